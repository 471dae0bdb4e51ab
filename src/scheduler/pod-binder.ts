import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Cache} from './cache/cache.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import type {FailureHandler} from './failure-handler.js';
import type {FilterSet} from '#src/scheduler/framework/fit.js';
import type {SchedulerMetrics} from './metrics.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';
import type {Nominator} from './queue/nominator.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {SchedulingQueue} from './queue/queue.js';
import type {Reporter} from './reports.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';

export interface PodBinderParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly reporter: Reporter;
  readonly metrics: SchedulerMetrics;
  readonly failures: FailureHandler;
  gate(name: string): boolean;
}

/** A reservation that a plugin made for a pod. */
interface PluginReservation {
  readonly plugin: PluginName;
  readonly reservation: Reservation;
}

/** Binds pods to their selected nodes: each is assumed at once, and bound while the next pods are scheduled. */
export class PodBinder {
  readonly #parts: PodBinderParts;
  readonly #binding = new Set<Promise<void>>();

  constructor(parts: PodBinderParts) {
    this.#parts = parts;
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
    const {cache, clock, nominator, reporter, gate} = this.#parts;
    const {info} = queued;
    const reservations: PluginReservation[] = filters.flatMap(({plugin, check}) => {
      const reservation = check.reserve?.(node);
      return reservation ? [{plugin, reservation}] : [];
    });
    cache.assume(info, node.name);
    nominator.delete(info.uid);
    if (reservations.length > 0 && gate('NominatedNodeNameForExpectation')) reporter.reportNomination(info.pod, node.name);
    const binding = this.#bind(queued, node.name, reservations, since)
      .catch((error: unknown) => clock.unhandled(error))
      .finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  async #bind(queued: QueuedPod, node: string, reservations: readonly PluginReservation[], since: number): Promise<void> {
    const {clock, log, signal, queue, reporter, metrics, failures} = this.#parts;
    const {info} = queued;
    const profile = info.pod.spec?.schedulerName ?? '';
    try {
      for (const {plugin, reservation} of reservations)
        await this.#runPlugin('PreBind', plugin, profile, () => reservation.preBind(info, signal));
      using _ = clock.hold();
      await this.#runPlugin('Bind', 'DefaultBinder', profile, () => reporter.bind(info, node));
      if (queue.get(info.uid) === queued) queue.delete(info.uid);
      metrics.countAttempt('scheduled', profile, clock.monotonic() - since);
      metrics.observeScheduled(queued, clock.monotonic() - (queued.firstDue ?? since));
    } catch (error) {
      for (const {reservation} of reservations) reservation.unreserve(info);
      if (signal.aborted) return;
      log.v(1).warn({pod: info.key, node, err: error}, 'a pod could not be bound');
      this.#forget(info);
      failures.handleError(queued, messageOf(error), since);
    }
  }

  /** Runs an extension point of a plugin; an error names both. */
  async #runPlugin(point: 'PreBind' | 'Bind', plugin: string, profile: string, run: () => Promise<void>): Promise<void> {
    const {clock, metrics} = this.#parts;
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

  /** Forgets an assumed pod, which may make other pods schedulable. */
  #forget(info: PodInfo): void {
    const {cache, queue} = this.#parts;
    const cached = cache.pod(info.uid);
    if (!cached?.assumed) return;
    cache.removePod(info.uid);
    const old: Frozen<Pod> = {...info.pod, spec: {...info.pod.spec!, nodeName: cached.node}};
    queue.moveOn({kind: 'AssignedPodDelete', old});
  }
}
