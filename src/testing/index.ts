/** Tests of operators against a plane with a virtual clock: `import {until} from 'plat/testing'`. */
export {inject, type Fault, type Injected, type InjectOptions} from './inject.js';
export {until, type UntilOptions} from './until.js';
export type {Duration} from '#src/operator/result.js';
