import type {schedulerFlags} from '#src/options/programs/scheduler.js';
import {scheduler} from '#src/plane/scheduler.js';
import {runComponent} from './program/component.js';
import type {Invocation} from './program/program.js';

/** `plat-scheduler`: binds pods to nodes, with leader election, until it is stopped. Returns the exit code. */
export const runScheduler = (invocation: Invocation<(typeof schedulerFlags)['rows']>): Promise<number> =>
  runComponent(scheduler, invocation, {describe: () => 'scheduling'});
