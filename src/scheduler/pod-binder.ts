import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import type {FailureHandler} from './failure-handler.js';
import type {FilterSet} from '#src/scheduler/framework/filter-set.js';
import type {SchedulerMetrics} from './metrics.js';
import {PermitGate} from './permit-gate.js';
import type {PermitRejection} from './permit/waiting-pods.js';
import type {Cluster, PluginName} from '#src/scheduler/framework/plugin.js';
import type {Profile} from './profile.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {Reporter} from './reports.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';
import type {SchedulerState} from './state.js';

export interface PodBinderParts {
  readonly environment: BinderEnvironment;
  readonly cluster: Cluster;
  readonly state: SchedulerState;
  readonly reporter: Reporter;
  readonly metrics: SchedulerMetrics;
  readonly failures: FailureHandler;
}

interface BinderEnvironment {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly profiles: ReadonlyMap<string, Profile>;
}

/** A reservation that a plugin made for a pod. */
interface PluginReservation {
  readonly plugin: PluginName;
  readonly reservation: Reservation;
}

/** A pod that gets a node. `since` is when the attempt began. */
interface Binding {
  readonly queued: QueuedPod;
  readonly node: string;
  readonly reservations: readonly PluginReservation[];
  readonly since: number;
}

/** Binds pods to their selected nodes: each is assumed at once, and bound while the next pods are scheduled. */
export class PodBinder {
  readonly #parts: PodBinderParts;
  readonly #permits: PermitGate;
  readonly #binding = new Set<Promise<void>>();

  constructor(parts: PodBinderParts) {
    const {environment, cluster, state, metrics} = parts;
    const {clock, profiles} = environment;
    this.#parts = parts;
    this.#permits = new PermitGate({clock, profiles, cluster, queue: state.queue, waiting: state.waiting, metrics});
  }

  /** The number of pods being bound. */
  get binding(): number {
    return this.#binding.size;
  }

  /** Resolves once no pod is being bound. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#binding);
  }

  /** Assumes the pod on the node and begins to bind it. `since` is when the attempt began. */
  assumeAndBind(queued: QueuedPod, node: NodeInfo, {filters}: FilterSet, since: number): void {
    const {environment, state} = this.#parts;
    const {info} = queued;
    const reservations: PluginReservation[] = filters.flatMap(({plugin, check}) => {
      const reservation = check.reserve?.(node);
      return reservation ? [{plugin, reservation}] : [];
    });
    state.cache.assume(info, node.name);
    state.nominator.delete(info.uid);
    const binding = this.#bind({queued, node: node.name, reservations, since})
      .catch((error: unknown) => environment.clock.unhandled(error))
      .finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  /** Begins at once: what a permit says counts for the next pod already. */
  async #bind(binding: Binding): Promise<void> {
    const {environment, state, failures} = this.#parts;
    const {queued, node, reservations, since} = binding;
    const {info} = queued;
    const release = this.#permits.reserve(info);
    const unreserve = () => {
      for (const {reservation} of reservations) reservation.unreserve(info);
      release();
    };
    try {
      const wait = this.#permits.permit(info);
      this.#nominate(binding, wait);
      const result = wait ? await wait : 'allowed';
      if (result !== 'allowed') {
        unreserve();
        return result === 'stopped' ? undefined : this.#reject(binding, result);
      }
      if (wait) state.queue.done(queued);
      await this.#runBinding(binding);
    } catch (error) {
      unreserve();
      if (environment.signal.aborted) return;
      environment.log.v(1).warn({pod: info.key, node, err: error}, 'a pod could not be bound');
      const forgotten = this.#forget(info);
      if (forgotten) state.queue.moveOn({kind: 'AssignedPodDelete', old: forgotten});
      failures.handleError(queued, messageOf(error), since);
    }
  }

  /** Shows the node of a pod that is not bound at once. */
  #nominate({queued: {info}, node, reservations}: Binding, wait: Promise<unknown> | undefined): void {
    const {cluster, reporter} = this.#parts;
    if ((reservations.length > 0 || wait) && cluster.gate('NominatedNodeNameForExpectation')) reporter.reportNomination(info.pod, node);
  }

  async #runBinding({queued, node, reservations, since}: Binding): Promise<void> {
    const {environment, state, reporter, metrics} = this.#parts;
    const {clock, signal} = environment;
    const {info} = queued;
    const profile = info.pod.spec?.schedulerName ?? '';
    for (const {plugin, reservation} of reservations)
      await this.#runPlugin('PreBind', plugin, profile, () => reservation.preBind(info, signal));
    using _ = clock.hold();
    await this.#runPlugin('Bind', 'DefaultBinder', profile, () => reporter.bind(info, node));
    if (state.queue.get(info.uid) === queued) state.queue.delete(info.uid);
    metrics.countAttempt('scheduled', profile, clock.monotonic() - since);
    metrics.observeScheduled(queued, clock.monotonic() - (queued.firstDue ?? since));
  }

  /** Returns a pod to the queue that was not permitted to be bound. */
  #reject({queued, since}: Binding, {plugin, message: why}: PermitRejection): void {
    const {state, failures} = this.#parts;
    const {info} = queued;
    const forgotten = this.#forget(info);
    const message = `0/1 nodes are available: 1 ${why}.`;
    failures.handle(queued, {reason: 'Unschedulable', message, nominatedNode: ''}, new Set(plugin ? [plugin] : []), since);
    state.queue.done(queued);
    // It is unschedulable itself, whatever it leaves to others.
    if (forgotten) state.queue.moveOn({kind: 'AssignedPodDelete', old: forgotten}, ({uid}) => uid !== info.uid);
  }

  /** Runs an extension point of a plugin; an error names both. */
  async #runPlugin(point: 'PreBind' | 'Bind', plugin: string, profile: string, run: () => Promise<void>): Promise<void> {
    const {environment, metrics} = this.#parts;
    const {clock} = environment;
    const startedAt = clock.monotonic();
    const observe = (status: 'Success' | 'Error') => metrics.observeExtensionPoint(point, status, profile, clock.monotonic() - startedAt);
    try {
      await run();
      observe('Success');
    } catch (cause) {
      observe('Error');
      throw new Error(`running ${point} plugin ${JSON.stringify(plugin)}: ${messageOf(cause)}`, {cause});
    }
  }

  /** Forgets an assumed pod, which may make other pods schedulable. Returns it with the node that it had. */
  #forget(info: PodInfo): Frozen<Pod> | undefined {
    const {cache} = this.#parts.state;
    const cached = cache.pod(info.uid);
    if (!cached?.assumed) return undefined;
    cache.removePod(info.uid);
    return {...info.pod, spec: {...info.pod.spec!, nodeName: cached.node}};
  }
}
