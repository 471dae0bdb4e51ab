// What works over the API server of a plane: its own hooks and loops, controller manager, scheduler and nodes.

import {ListRefused} from '#informers/refusal.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Parsed} from '#src/options/parse.js';
import type {Manager} from '#src/runtime/manager.js';
import {aborted, unlessAborted} from '#src/base/signals.js';
import type {HeldFolder} from '#src/base/files/held-folder.js';
import type {StoreSnapshot} from '#src/storage/store.js';
import type {RunningApiServer} from './api-server/api-server.js';
import type {Component} from './component/component.js';
import {inProcessConnection} from './component/in-process.js';
import {runComponent, type RunningComponent} from './component/run.js';
import {controllerManager as controllerManagerComponent} from './controller-manager/component.js';
import type {Beginning, Foundation} from './inputs/foundation.js';
import type {PlaneInputs} from './inputs/inputs.js';
import {PlaneNodes} from './nodes/nodes.js';
import type {PlaneOptions} from './inputs/options.js';
import type {PlanePort} from './api-server/port.js';
import {externalAddress} from './api-server/addresses.js';
import {scheduler as schedulerComponent} from './scheduler.js';
import {admin, type Processes, type Server} from './server.js';

interface WorkOptions extends Pick<Foundation, 'begun'> {
  /** How many holds of the clock are the caller's. */
  readonly ownHolds?: number;
}

/** More nodes are registered beside the other controllers. */
const fewNodes = 10;

/**
 * Starts what works over the API server: its own hooks and loops, components and nodes. On a virtual clock each has
 * done what is due before the next begins, so that planes with the same seed begin alike.
 */
export const startWork = async (
  {inputs, processes, port, store, nodes, api}: Server,
  undo: Undo,
  {ownHolds = 0, begun}: WorkOptions = {},
) => {
  const {options} = inputs;
  const {clock} = options;
  const settled = async () => clock instanceof VirtualClock && (await unlessStopped(options, clock.quiet(ownHolds)));
  await unlessStopped(options, api.begin());
  await settled();
  if (begun && store.snapshot && inputs.temporary) begun(beginningOf(inputs, inputs.temporary, store.snapshot()));
  const work = await startComponents(inputs, processes, api, undo);
  await settled();
  // Nodes are written again for what controllers do to them late.
  if ((options.nodes ?? 0) > fewNodes) work.fillCaches();
  await startNodes(nodes, api, undo);
  await settled();
  if (port && options.bootstrapTokens) await publishClusterInfo(inputs, port, api);
  return work;
};

const beginningOf = ({material}: PlaneInputs, temporary: HeldFolder, store: StoreSnapshot): Beginning => {
  const held = temporary.hold();
  return {temporary, material, store, [Symbol.dispose]: () => held[Symbol.dispose]()};
};

/** Lets nodes join: publishes how to connect to the plane, and what tokens allow. */
const publishClusterInfo = async ({apiserver}: PlaneInputs, {settings, address}: PlanePort, api: RunningApiServer): Promise<void> => {
  const {ensureJoining} = await import('#src/controlplane/joining.js');
  await ensureJoining(api.clientAs(admin, 'joining'), {server: `https://${externalAddress(apiserver.options, address)}`, ca: settings.ca});
};

export const unlessStopped = <T>({signal}: PlaneOptions, step: Promise<T>): Promise<T> => (signal ? unlessAborted(step, signal) : step);

/** The controller manager and the scheduler of a plane. */
interface Work {
  readonly manager: Manager;
  /** Rejects when one of them ends by itself. */
  readonly failed: Promise<never>;
  /** Has the caches filled that are not filled by then, with which the other controllers begin. */
  fillCaches(): void;
}

/**
 * Starts the controller manager and the scheduler, and waits until both are ready, or until new namespaces get what
 * pods need.
 */
const startComponents = async (inputs: PlaneInputs, processes: Processes, api: RunningApiServer, undo: Undo): Promise<Work> => {
  const {options, controllerManager, scheduler, naming, clock, random, log} = inputs;
  const {handler, recorder} = api;
  const stopping = new AbortController();
  const isEarly = options.waitForCaches === false && !(clock instanceof VirtualClock);
  let fillCaches = (): void => {};
  const others = new Promise<void>(resolve => (fillCaches = resolve));
  const environment = {clock, random, log, recorder, freeze: options.freeze ?? false, stopping: stopping.signal};
  const start = <R>(
    component: Component<R>,
    parsed: Parsed<R>,
    own: Processes['manager'],
    names: readonly string[] = [],
  ): Promise<RunningComponent> => {
    const connection = inProcessConnection({
      role: component.role,
      handler,
      naming,
      clock,
      options: parsed.options as never,
      set: parsed.set,
    });
    return runComponent(component, parsed, connection, {...environment, ...own, first: isEarly ? {names, others} : undefined}, undo);
  };
  const {controllers} = await import('#controllers/index.js');
  const running = [
    await start(controllerManagerComponent(controllers), controllerManager, processes.manager, neededByNamespaces),
    await start(schedulerComponent, scheduler, processes.scheduler),
  ] as const;
  undo.defer(() => stopping.abort(aborted)); // Both stop at once.
  const failed = failureOf(
    running.map(({ended}) => ended),
    stopping.signal,
  );
  const whenReady = readiness(running, failed);
  const early = isEarly ? [running[0].manager.firstRunning] : [];
  await unlessStopped(options, Promise.race([whenReady, failed, ...early]));
  return {manager: running[0].manager, failed: isEarly ? failureOfEither(failed, whenReady) : failed, fillCaches};
};

const startNodes = async (nodes: PlaneNodes, api: RunningApiServer, undo: Undo): Promise<void> => {
  const stop = await nodes.start(api);
  if (stop) undo.defer(stop);
};

/** The controllers that give a new namespace what its pods need. */
const neededByNamespaces = ['serviceaccount-controller', 'root-ca-certificate-publisher-controller'];

/** Rejects when components end by themselves, or fail. */
const failureOf = (runs: readonly Promise<string>[], stopping: AbortSignal): Promise<never> => {
  const failed = Promise.race(runs).then(outcome => {
    if (stopping.aborted) return new Promise<never>(() => {});
    throw new Error(`the controllers ended by themselves: ${outcome}`);
  });
  failed.catch(() => {});
  return failed;
};

/** Rejects when components fail, or are refused what would have ended the start. */
const failureOfEither = (failed: Promise<never>, whenReady: Promise<unknown>): Promise<never> => {
  const refused = whenReady.then(() => new Promise<never>(() => {}));
  const either = Promise.race([failed, refused]);
  either.catch(() => {});
  return either;
};

/** Resolves once all managers are ready. A refused list is reported as it is; other failures are those of the run. */
const readiness = (components: readonly RunningComponent[], failed: Promise<never>): Promise<unknown> =>
  Promise.all(components.map(({manager}) => manager.ready)).catch((error: unknown) =>
    error instanceof ListRefused ? Promise.reject(error) : failed,
  );
