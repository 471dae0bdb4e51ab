import {startConverters} from './converting.js';

export const {webhook, converter, asking} = await startConverters();
