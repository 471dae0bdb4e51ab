import {VirtualClock} from '#src/base/virtual-clock.js';
import type {SharedState} from '#src/plane/inputs/foundation.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlaneOn, type Plane} from '#src/plane/plane.js';

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

/**
 * The planes that this process has started, at rest, by their options, and the holds of their keys. A start from the
 * records and keys of another takes half the time.
 */
const started = new Map<string, SharedState>();
const holds: Disposable[] = [];

process.on('exit', () => {
  for (const hold of holds) hold[Symbol.dispose]();
});

/** Options of text and numbers alone, with which planes begin alike. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : value === undefined || ['string', 'number', 'boolean'].includes(typeof value);

/** A plane in memory on a virtual clock, at rest: everything its start set off has happened. */
export const aPlane = async ({controllers = usual, controllerManagerArgs: args = [], ...options}: TestPlaneOptions = {}): Promise<
  Plane & {readonly clock: VirtualClock}
> => {
  const {clock = new VirtualClock(), ...others} = options;
  const chosen = args.some(arg => arg.startsWith('--controllers=')) ? [] : [`--controllers=${controllers.join(',')}`];
  const own: PlaneOptions = {naming: 'plat', ...others, controllerManagerArgs: [...chosen, ...args], listen: false, freeze: true};
  const key = Object.values(own).every(isPlain) ? JSON.stringify([clock.now(), own]) : undefined;
  const state = key === undefined ? undefined : started.get(key);
  const plane = await startPlaneOn(state ? {state} : {}, {...own, clock});
  await clock.drain();
  const made = key !== undefined && !state ? plane.state() : undefined;
  if (made) {
    started.set(key!, made);
    holds.push(made.keys.hold());
  }
  return {...plane, clock};
};
