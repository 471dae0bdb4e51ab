import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Cache} from './cache/cache.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import type {Checks} from './fit.js';
import type {SchedulerMetrics} from './metrics.js';
import type {PluginName} from './plugin.js';
import type {Nominated} from './queue/nominated.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {SchedulingQueue} from './queue/queue.js';
import type {Reporter} from './reports.js';
import type {Reservation} from './reservation.js';

export interface PlacerParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominated: Nominated;
  readonly reporter: Reporter;
  readonly metrics: SchedulerMetrics;
  gate(name: string): boolean;
  /** Puts a pod back that could not be bound. */
  failed(queued: QueuedPod, message: string, since: number): void;
}

/** What a plugin gave to a pod that has a node. */
interface Given {
  readonly plugin: PluginName;
  readonly reservation: Reservation;
}

/** Gives pods to the nodes that were chosen: each is taken to be there at once, and bound while others are being decided. */
export class Placer {
  readonly #parts: PlacerParts;
  readonly #binding = new Set<Promise<void>>();

  constructor(parts: PlacerParts) {
    this.#parts = parts;
  }

  /** How many pods are being bound. */
  get binding(): number {
    return this.#binding.size;
  }

  /** Resolves once no pod is being bound any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#binding);
  }

  /** Takes the pod to be on the node from now on, and binds it. `since` is when the attempt began. */
  place(queued: QueuedPod, node: NodeInfo, {checks}: Checks, since: number): void {
    const {cache, clock, nominated, reporter, gate} = this.#parts;
    const {info} = queued;
    const given: Given[] = checks.flatMap(({plugin, check}) => {
      const reservation = check.reserve?.(node);
      return reservation ? [{plugin, reservation}] : [];
    });
    cache.assume(info, node.name);
    nominated.delete(info.uid);
    if (given.length > 0 && gate('NominatedNodeNameForExpectation')) reporter.promised(info.pod, node.name);
    const binding = this.#bind(queued, node.name, given, since).catch((error: unknown) => clock.unhandled(error)).finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  async #bind(queued: QueuedPod, node: string, given: readonly Given[], since: number): Promise<void> {
    const {clock, log, signal, queue, reporter, metrics, failed} = this.#parts;
    const {info} = queued;
    const profile = info.pod.spec?.schedulerName ?? '';
    try {
      for (const {plugin, reservation} of given) await this.#step('PreBind', plugin, profile, () => reservation.settle(info, signal));
      using _ = clock.hold();
      await this.#step('Bind', 'DefaultBinder', profile, () => reporter.bind(info, node));
      if (queue.get(info.uid) === queued) queue.delete(info.uid);
      metrics.attempted('scheduled', profile, clock.monotonic() - since);
      metrics.scheduled(queued, clock.monotonic() - (queued.firstDue ?? since));
    } catch (error) {
      for (const {reservation} of given) reservation.undo(info);
      if (signal.aborted) return;
      log.v(1).warn({pod: info.key, node, err: error}, 'a pod could not be bound');
      this.#forget(info);
      failed(queued, messageOf(error), since);
    }
  }

  /** Runs a step that a plugin takes with a pod that has a node; what it fails with names both. */
  async #step(point: 'PreBind' | 'Bind', plugin: string, profile: string, take: () => Promise<void>): Promise<void> {
    const {clock, metrics} = this.#parts;
    const begun = clock.monotonic();
    const took = (status: 'Success' | 'Error') => metrics.took(point, status, profile, clock.monotonic() - begun);
    try {
      await take();
      took('Success');
    } catch (cause) {
      took('Error');
      throw new Error(`running ${point} plugin ${JSON.stringify(plugin)}: ${messageOf(cause)}`, {cause});
    }
  }

  /** Gives up a node that a pod was taken to be on, which may help others. */
  #forget(info: PodInfo): void {
    const {cache, queue} = this.#parts;
    const placed = cache.pod(info.uid);
    if (!placed?.assumed) return;
    cache.removePod(info.uid);
    const old: Frozen<Pod> = {...info.pod, spec: {...info.pod.spec!, nodeName: placed.node}};
    queue.moveOn({kind: 'AssignedPodDelete', old});
  }
}
