/**
 * Test helpers for operators, on a plane with a virtual clock: `import {survive, until} from '@platio/plat/testing'`.
 */
export {inject, type Fault, type Injected, type InjectOptions} from './faults/inject.js';
export {until, type UntilOptions} from './waiting/until.js';
export {recordRights, type RecordRightsOptions, type RightsRecording} from './rights/recording.js';
export {restricted, type Restricted, type RestrictedOptions} from './rights/restricted.js';
export type {ProgramNeeds} from './rights/declared.js';
export {survive} from './survive/survive.js';
export type {Difference, EndView, Stage, SurviveOptions, SurviveReport} from './survive/scenario.js';
export {startPlane} from '#src/plane/index.js';
export type {Duration} from '#src/operator/result.js';
