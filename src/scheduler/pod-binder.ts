import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Cache} from './cache/cache.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import type {FilterSet} from './fit.js';
import type {SchedulerMetrics} from './metrics.js';
import type {PluginName} from './plugin.js';
import type {Nominator} from './queue/nominator.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {SchedulingQueue} from './queue/queue.js';
import type {Reporter} from './reports.js';
import type {Reservation} from './reservation.js';

export interface PodBinderParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly reporter: Reporter;
  readonly metrics: SchedulerMetrics;
  gate(name: string): boolean;
  /** Puts a pod back that could not be bound. */
  failed(queued: QueuedPod, message: string, since: number): void;
}

/** What a plugin gave to a pod that has a node. */
interface PluginReservation {
  readonly plugin: PluginName;
  readonly reservation: Reservation;
}

/** Gives pods to the nodes that were chosen: each is taken to be there at once, and bound while others are being decided. */
export class PodBinder {
  readonly #parts: PodBinderParts;
  readonly #binding = new Set<Promise<void>>();

  constructor(parts: PodBinderParts) {
    this.#parts = parts;
  }

  /** How many pods are being bound. */
  get binding(): number {
    return this.#binding.size;
  }

  /** Resolves once no pod is being bound any more. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#binding);
  }

  /** Takes the pod to be on the node from now on, and binds it. `since` is when the attempt began. */
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
    const binding = this.#bind(queued, node.name, reservations, since).catch((error: unknown) => clock.unhandled(error)).finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  async #bind(queued: QueuedPod, node: string, reservations: readonly PluginReservation[], since: number): Promise<void> {
    const {clock, log, signal, queue, reporter, metrics, failed} = this.#parts;
    const {info} = queued;
    const profile = info.pod.spec?.schedulerName ?? '';
    try {
      for (const {plugin, reservation} of reservations) await this.#runPlugin('PreBind', plugin, profile, () => reservation.preBind(info, signal));
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
      failed(queued, messageOf(error), since);
    }
  }

  /** Runs a step that a plugin takes with a pod that has a node; what it fails with names both. */
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

  /** Gives up a node that a pod was taken to be on, which may help others. */
  #forget(info: PodInfo): void {
    const {cache, queue} = this.#parts;
    const cached = cache.pod(info.uid);
    if (!cached?.assumed) return;
    cache.removePod(info.uid);
    const old: Frozen<Pod> = {...info.pod, spec: {...info.pod.spec!, nodeName: cached.node}};
    queue.moveOn({kind: 'AssignedPodDelete', old});
  }
}
