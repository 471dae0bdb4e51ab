import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Beginning} from '#src/plane/inputs/foundation.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlaneOn, type Plane, type WholeState} from '#src/plane/plane.js';

export interface TestPlaneOptions extends Omit<PlaneOptions, 'clock' | 'listen' | 'freeze' | 'controllers'> {
  readonly clock?: VirtualClock;
  /**
   * The controllers that run, as in `--controllers`. Fewer make a test faster, above all one that lives through days:
   * watches end and begin again every few minutes.
   */
  readonly controllers?: readonly string[];
  /**
   * Whether its API server does little of its own, without flow control, unless flags say otherwise. True by default.
   */
  readonly isRestful?: boolean;
}

/** Flags of an API server that itself does little at its start and as time passes. */
export const restful = [
  '--enable-priority-and-fairness=false',
  '--endpoint-reconciler-type=none',
  '--kvstore-db-metric-poll-interval=0',
  '--kvstore-count-metric-poll-period=0',
];

/** The garbage collector follows every kind there is: too much for tests that do not need it. */
const usual = ['*', '-garbage-collector-controller'];

/** The states at rest of the planes that this process has started, by their options. A fork takes half the time. */
const started = new Map<string, WholeState>();

/** What the API servers of these planes have written at their start, by what decides on it. */
const begun = new Map<string, Beginning>();

process.on('exit', () => {
  for (const state of [...started.values(), ...begun.values()]) state[Symbol.dispose]();
});

/** Options of text and numbers alone, with which planes begin alike. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : value === undefined || ['string', 'number', 'boolean'].includes(typeof value);

const isInMemory = ({dataDir, apiserverArgs}: PlaneOptions): boolean =>
  !dataDir && !apiserverArgs?.some(arg => arg.startsWith('--storage-backend'));

/** Whether all that a plane begins with is in its memory. What simulated nodes know is in no record. */
const isForked = (options: PlaneOptions): boolean =>
  !options.nodes && !options.manifests && isInMemory(options) && Object.values(options).every(isPlain);

/** Flags that decide who may send requests and what is recorded of them, not what an API server writes at its start. */
const concernsRequests = (arg: string): boolean => /^--(api-audiences|audit|authentication|oidc|service-account|token-auth)/.test(arg);

/** A plane whose API server begins with the records and keys of an earlier one, which had the same flags. */
const startedAlike = (options: PlaneOptions, clock: VirtualClock): Promise<Plane> => {
  const {controllerManagerArgs: _controllers, schedulerArgs: _scheduler, manifests: _manifests, ...others} = options;
  if (!isInMemory(options) || options.cloudProvider || options.random) return startPlaneOn({}, {...options, clock});
  const apiserverArgs = (options.apiserverArgs ?? []).filter(arg => !concernsRequests(arg));
  const beside = {log: undefined, simulationFile: undefined, webhooks: undefined};
  const own = {...others, ...beside, apiserverArgs, nodes: (options.nodes ?? 0) > 0};
  const key = JSON.stringify([clock.now(), own]);
  const beginning = begun.get(key);
  return startPlaneOn(beginning ? {beginning} : {begun: each => void begun.set(key, each)}, {...options, clock});
};

/** A plane in memory on a virtual clock, at rest: everything its start set off has happened. */
export const aPlane = async ({
  controllers = usual,
  isRestful = true,
  apiserverArgs: given = [],
  controllerManagerArgs: args = [],
  ...options
}: TestPlaneOptions = {}): Promise<Plane & {readonly clock: VirtualClock}> => {
  const {clock = new VirtualClock(), ...others} = options;
  const apiserverArgs = isRestful ? [...restful, ...given] : given;
  const chosen = args.some(arg => arg.startsWith('--controllers=')) ? [] : [`--controllers=${controllers.join(',')}`];
  const own: PlaneOptions = {
    naming: 'plat',
    ...others,
    apiserverArgs,
    controllerManagerArgs: [...chosen, ...args],
    listen: false,
    freeze: true,
  };
  const key = isForked(own) ? JSON.stringify([clock.now(), own]) : undefined;
  const known = key === undefined ? undefined : started.get(key);
  const plane = known ? await known.start({clock}) : await startedAlike(own, clock);
  await clock.drain();
  if (key !== undefined && !known) started.set(key, plane.state());
  return {...plane, clock};
};
