import type {schedulerFlags} from '#src/options/programs/scheduler.js';
import {scheduler} from '#src/plane/scheduler.js';
import {runComponentProgram} from './program/component.js';
import type {Invocation} from '#src/program/program.js';

/** `plat-scheduler`: binds pods to nodes, with leader election, until it is stopped. Returns the exit code. */
export const runScheduler = (invocation: Invocation<(typeof schedulerFlags)['rows']>): Promise<number> =>
  runComponentProgram(scheduler, invocation, {describe: () => 'scheduling'});
