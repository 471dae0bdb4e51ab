/** Tests of operators against a plane with a virtual clock: `import {until} from 'plat/testing'`. */
export {until, type UntilOptions} from './until.js';
export type {Duration} from '#src/operator/result.js';
