import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster, Permit, PermitVerdict} from '#src/scheduler/framework/plugin.js';
import type {SchedulerMetrics} from '#src/scheduler/metrics.js';
import type {Profile} from '#src/scheduler/profile.js';
import type {SchedulingQueue} from '#src/scheduler/queue/queue.js';
import type {PermitResult, WaitingPods} from './permit/waiting-pods.js';

export interface PermitGateParts {
  readonly clock: Clock;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly cluster: Cluster;
  readonly queue: SchedulingQueue;
  readonly waiting: WaitingPods;
  readonly metrics: SchedulerMetrics;
}

/** Asks the plugins of a pod's profile whether it may be bound to the node that is reserved for it. */
export class PermitGate {
  readonly #parts: PermitGateParts;

  constructor(parts: PermitGateParts) {
    this.#parts = parts;
  }

  /** Tells the plugins that a node is reserved for the pod. Returns what takes that back. */
  reserve(info: PodInfo): () => void {
    const undo = this.#permitsOf(info).map(permit => permit.reserve(info, this.#parts.cluster));
    return () => undo.forEach(each => each());
  }

  /** Returns a promise if the pod has to wait. Throws if a plugin cannot decide. */
  permit(info: PodInfo): Promise<PermitResult> | undefined {
    const {clock, metrics} = this.#parts;
    const startedAt = clock.monotonic();
    const observe = (status: 'Success' | 'Wait' | 'Error') =>
      metrics.observeExtensionPoint('Permit', status, info.pod.spec?.schedulerName ?? '', clock.monotonic() - startedAt);
    let wait: Promise<PermitResult> | undefined;
    for (const permit of this.#permitsOf(info)) {
      try {
        wait ??= this.#follow(info, permit, permit.permit(info, this.#parts.cluster));
      } catch (cause) {
        observe('Error');
        throw new Error(`running Permit plugin ${JSON.stringify(permit.plugin)}: ${messageOf(cause)}`, {cause});
      }
    }
    observe(wait ? 'Wait' : 'Success');
    return wait;
  }

  #permitsOf({pod}: PodInfo): readonly Permit[] {
    return this.#parts.profiles.get(pod.spec?.schedulerName ?? '')?.permits ?? [];
  }

  #follow(info: PodInfo, {plugin}: Permit, verdict: PermitVerdict): Promise<PermitResult> | undefined {
    const {queue, waiting} = this.#parts;
    if (verdict === 'allow') return undefined;
    if ('allow' in verdict) {
      for (const uid of verdict.allow) waiting.allow(uid);
      return undefined;
    }
    for (const uid of verdict.activate) queue.activate(uid);
    return this.#wait(info, plugin, verdict.waitMs);
  }

  async #wait({uid}: PodInfo, plugin: Permit['plugin'], maxMs: number): Promise<PermitResult> {
    const {clock, waiting, metrics} = this.#parts;
    const startedAt = clock.monotonic();
    const result = await waiting.wait(uid, plugin, maxMs);
    if (result !== 'stopped') metrics.observePermitWait(result === 'allowed' ? 'Success' : 'Unschedulable', clock.monotonic() - startedAt);
    return result;
  }
}
