import {VirtualClock} from '#src/base/virtual-clock.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlane, type Plane} from '#src/plane/plane.js';

export interface TestPlaneOptions extends Omit<PlaneOptions, 'clock' | 'listen' | 'freeze' | 'controllers'> {
  readonly clock?: VirtualClock;
  /**
   * The controllers that run, as in `--controllers`. Fewer make a test faster, above all one that lives through days:
   * watches end and begin again every few minutes.
   */
  readonly controllers?: readonly string[];
}

/** The garbage collector follows every kind there is: too much for tests that do not need it. */
const usual = ['*', '-garbage-collector-controller'];

/** A plane in memory on a virtual clock, at rest: everything its start set off has happened. */
export const aPlane = async ({controllers = usual, controllerManagerArgs: args = [], ...options}: TestPlaneOptions = {}): Promise<
  Plane & {readonly clock: VirtualClock}
> => {
  const clock = options.clock ?? new VirtualClock();
  const chosen = args.some(arg => arg.startsWith('--controllers=')) ? [] : [`--controllers=${controllers.join(',')}`];
  const plane = await startPlane({
    naming: 'plat',
    ...options,
    controllerManagerArgs: [...chosen, ...args],
    listen: false,
    freeze: true,
    clock,
  });
  await clock.drain();
  return {...plane, clock};
};
