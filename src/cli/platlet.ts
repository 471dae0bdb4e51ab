import {startPlatlet} from './platlet/start.js';

void startPlatlet(process.argv.slice(2));
