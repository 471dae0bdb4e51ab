import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {WaitingPods} from '#src/scheduler/permit/waiting-pods.js';
import type {Nominator} from '#src/scheduler/queue/nominator.js';
import type {Candidate} from './candidates.js';

export interface PreemptorParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** Aborts when the scheduler is to stop; pending writes are still finished. */
  readonly signal: AbortSignal;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
}

/** Returns the strategic patch that sets a victim's DisruptionTarget condition. */
const disruptionTargetPatch = ({metadata, status}: Frozen<Pod>, by: Frozen<Pod>, now: number): object => {
  const before = status?.conditions?.find(({type}) => type === 'DisruptionTarget');
  return {
    metadata: {uid: metadata?.uid},
    status: {
      conditions: [
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'PreemptionByScheduler',
          message: `${by.spec?.schedulerName}: preempting to accommodate a higher priority pod`,
          lastTransitionTime: before?.status === 'True' ? before.lastTransitionTime : wireTime(now),
          ...(metadata?.generation ? {observedGeneration: metadata.generation} : {}),
        },
      ],
    },
  };
};

/** Evicts victims for a pod. The preemptor pod is not retried until all but the last victim were deleted. */
export class Preemptor {
  readonly #parts: PreemptorParts;
  readonly #preempting = new Set<string>();
  readonly #running = new Set<Promise<void>>();

  constructor(parts: PreemptorParts) {
    this.#parts = parts;
  }

  /** Whether victims are being evicted for this pod. */
  isPreemptingFor(uid: string): boolean {
    return this.#preempting.has(uid);
  }

  /** Evicts the victims, asynchronously. `failed` is called if they cannot be evicted. */
  preempt(pod: PodInfo, candidate: Candidate, failed: () => void): void {
    this.#preempting.add(pod.uid);
    const {clock} = this.#parts;
    const running = this.#preempt(pod, candidate, failed)
      .catch((error: unknown) => clock.unhandled(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves once no eviction is in progress. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #preempt(pod: PodInfo, {node, victims}: Candidate, failed: () => void): Promise<void> {
    const {clock, log, nominator, signal} = this.#parts;
    const hold = clock.hold();
    try {
      await Promise.all(
        [...(nominator.podsFor(node) ?? [])].filter(({priority}) => priority < pod.priority).map(other => this.#clearNomination(other)),
      );
      await Promise.all(victims.slice(0, -1).map(victim => this.#evict(victim, pod, node)));
      // Cleared before the last deletion, so that its event can requeue the pod.
      this.#preempting.delete(pod.uid);
      await this.#evict(victims.at(-1)!, pod, node);
    } catch (error) {
      this.#preempting.delete(pod.uid);
      if (signal.aborted) return;
      log.error({pod: pod.key, node, err: error}, 'pods could not be made to leave');
      failed();
    } finally {
      hold[Symbol.dispose]();
    }
  }

  /** A pod of lower priority may no longer fit on the node to which it is nominated. */
  async #clearNomination({pod}: PodInfo): Promise<void> {
    const {client, log} = this.#parts;
    const {name = '', namespace = '', uid} = pod.metadata ?? {};
    try {
      await client
        .resource(kinds.pods)
        .patch(name, 'strategic', {metadata: {uid}, status: {nominatedNodeName: null}}, {namespace, subresource: 'status'});
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error))
        log.error({pod: `${namespace}/${name}`, err: error}, 'the promise of a node could not be taken back');
    }
  }

  async #evict({pod: victim}: PodInfo, {pod, uid}: PodInfo, node: string): Promise<void> {
    const {events, waiting} = this.#parts;
    // A pod that only has a node reserved is not deleted.
    const isRejected = waiting.reject(victim.metadata?.uid ?? '', {plugin: 'DefaultPreemption', message: 'preempted'});
    if (isRejected || (await this.#delete(victim, pod))) events.normal(victim, 'Preempted', `Preempted by pod ${uid} on node ${node}`);
  }

  /** Deletes a victim, with a condition that says why. Returns false if it was deleted already. */
  async #delete(victim: Frozen<Pod>, by: Frozen<Pod>): Promise<boolean> {
    const {client, clock} = this.#parts;
    const {name = '', namespace = '', uid} = victim.metadata ?? {};
    const pods = client.resource(kinds.pods);
    try {
      await pods.patch(name, 'strategic', disruptionTargetPatch(victim, by, clock.now()), {namespace, subresource: 'status'});
      await pods.delete(name, {namespace, ...(uid ? {preconditions: {uid}} : {})});
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}
