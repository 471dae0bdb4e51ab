import {VirtualClock} from '#src/base/virtual-clock.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlane, type Plane, type WholeState} from '#src/plane/plane.js';

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

/** The states at rest of the planes that this process has started, by their options. A fork takes half the time. */
const started = new Map<string, WholeState>();

process.on('exit', () => {
  for (const state of started.values()) state[Symbol.dispose]();
});

/** Options of text and numbers alone, with which planes begin alike. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : value === undefined || ['string', 'number', 'boolean'].includes(typeof value);

/** Whether all that a plane begins with is in its memory. What simulated nodes know is in no record. */
const isForked = (options: PlaneOptions): boolean =>
  !options.nodes &&
  !options.dataDir &&
  !options.manifests &&
  !options.apiserverArgs?.some(arg => arg.startsWith('--storage-backend')) &&
  Object.values(options).every(isPlain);

/** A plane in memory on a virtual clock, at rest: everything its start set off has happened. */
export const aPlane = async ({controllers = usual, controllerManagerArgs: args = [], ...options}: TestPlaneOptions = {}): Promise<
  Plane & {readonly clock: VirtualClock}
> => {
  const {clock = new VirtualClock(), ...others} = options;
  const chosen = args.some(arg => arg.startsWith('--controllers=')) ? [] : [`--controllers=${controllers.join(',')}`];
  const own: PlaneOptions = {naming: 'plat', ...others, controllerManagerArgs: [...chosen, ...args], listen: false, freeze: true};
  const key = isForked(own) ? JSON.stringify([clock.now(), own]) : undefined;
  const known = key === undefined ? undefined : started.get(key);
  const plane = known ? await known.start({clock}) : await startPlane({...own, clock});
  await clock.drain();
  if (key !== undefined && !known) started.set(key, plane.state());
  return {...plane, clock};
};
