// The workers of a node's pods and what they start with: pod sources, mirror pods and housekeeping.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {onAbort} from '#src/base/signals.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';
import type {GarbageLimits} from '#src/platlet/pod/garbage.js';
import {httpGetter} from '#src/platlet/prober/http.js';
import {probeRunner} from '#src/platlet/prober/probe.js';
import {Prober} from '#src/platlet/prober/prober.js';
import {MirrorPods} from '#src/platlet/sources/mirror-pods.js';
import type {PodFollower} from '#src/platlet/sources/pod-sources.js';
import {Hooks} from '#src/platlet/worker/hooks.js';
import {startHousekeeping, type Housekeeping} from '#src/platlet/worker/housekeeping.js';
import type {NodeFacts, WorkerPorts} from '#src/platlet/worker/parts.js';
import type {PodAdmission} from '#src/platlet/worker/pod-admission.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {PodWorkers} from '#src/platlet/worker/pod-workers.js';
import {PodStartTimes} from '#src/platlet/worker/start-times.js';
import {fieldPathOf} from '#src/platlet/worker/stop-container.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {PodApi} from './cluster.js';
import type {AgentParts} from './parts.js';

type Process = Pick<AgentParts, 'naming' | 'clock' | 'random' | 'log' | 'network' | 'metrics' | 'tracer'>;

/** What pod workers are created from, beside the process-wide values. */
export interface WorkersContext {
  readonly directory: PodDirectory;
  readonly admission: PodAdmission;
  readonly ports: WorkerPorts;
  readonly node: NodeFacts;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

/** The pod workers and what they share. */
export interface Working {
  readonly workers: PodWorkers;
  readonly prober: Prober;
}

/** Creates the pod workers of a node. No pod has one yet. */
export const workersOf = (parts: Process, {directory, admission, ports, node, events, signal}: WorkersContext): Working => {
  const {naming, clock, random, log, network, metrics, tracer} = parts;
  const {runtime} = ports;
  const times = new PodStartTimes(clock, metrics);
  const prober = new Prober({clock, random, events, run: probeRunner({naming, runtime, clock, network})});
  const hooks = new Hooks({
    naming,
    runtime,
    clock,
    get: httpGetter(clock, network),
    fellBack(pod, container, message) {
      metrics.hookFallbacks.add();
      const fieldPath = fieldPathOf(pod, container.name);
      events.warning(fieldPath ? {...pod, fieldPath} : pod, 'LifecycleHTTPFallback', message);
    },
  });
  const workers = new PodWorkers(
    {
      node,
      ports: {...ports, images: times.images(ports.images)},
      handlers: {prober, hooks},
      statuses: times.statuses(directory.statuses),
      telemetry: {log, events, metrics, tracer},
      clock,
      random,
      signal,
    },
    admission,
    directory,
  );
  return {workers, prober};
};

/** The sources of pods and the limits of housekeeping. */
export interface RunContext {
  readonly directory: PodDirectory;
  readonly ports: WorkerPorts;
  readonly api: PodApi | undefined;
  /** Returns the Node, which owns mirror pods. */
  node(): Frozen<Node> | undefined;
  readonly garbage: GarbageLimits;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

/**
 * Starts running the pods of a node. No pod is terminated before every source has delivered. Returns the housekeeping.
 * Rejects if the first list of the runtime fails.
 */
export const runPods = async (
  {naming, clock, log}: Pick<AgentParts, 'naming' | 'clock' | 'log'>,
  workers: PodWorkers,
  {directory, ports, api, node, garbage, events, signal}: RunContext,
): Promise<Housekeeping> => {
  const {sources} = directory;
  const mirrors =
    api &&
    new MirrorPods({
      client: api.client,
      naming,
      clock,
      log,
      signal,
      staticPods: () => sources.all('file', 'http'),
      apiPods: () => api.pods.lister.list(),
      node,
    });
  await directory.runtime.start(uid => workers.wake(uid));
  if (api && mirrors) {
    // A mirror pod that was changed or deleted is restored, and shows the status of its static pod.
    const listener = api.pods.listen(({object}) => {
      if (!isMirrorPod(naming, object)) return;
      mirrors.reconcile();
      directory.statuses.writeAll();
    });
    onAbort(signal, () => listener[Symbol.dispose]());
  }
  workers.followResizes();
  sources.start(followerOf(workers, ports.volumes, mirrors, events));
  onAbort(signal, () => workers[Symbol.dispose]());
  return startHousekeeping({clock, log, signal, runtime: ports.runtime, directory, workers, ports, limits: garbage});
};

/** Returns the handler of changes of the sources. */
const followerOf = (
  workers: PodWorkers,
  volumes: WorkerPorts['volumes'],
  mirrors: MirrorPods | undefined,
  events: EventRecorder,
): PodFollower => ({
  changed(pods) {
    for (const pod of pods) volumes.track?.(pod);
    workers.update(pods);
    mirrors?.reconcile();
  },
  reconciled(pods) {
    workers.refresh(pods);
    mirrors?.reconcile();
  },
  get isAdmitting() {
    return workers.isAdmitting;
  },
  removed(uid) {
    workers.remove(uid);
    mirrors?.reconcile();
  },
  duplicate: pod =>
    events.warning(pod, 'FailedValidation', `Error validating pod ${keyText(keyOf(pod))} due to duplicate pod name, ignoring`),
});
