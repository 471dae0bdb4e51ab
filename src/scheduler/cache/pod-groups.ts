import type {Change} from '#informers/change.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {isTerminal} from '#src/model/pod/state.js';

/** How long a pod of a group waits for the others to be given nodes. */
const schedulingTimeoutMs = 5 * 60_000;

type Reference = NonNullable<Frozen<PodSpec>['workloadRef']>;

/** Returns what a pod says of its workload and group. */
export const workloadRefOf = ({spec}: Frozen<Pod>): Reference | undefined => (spec as Frozen<PodSpec> | undefined)?.workloadRef;

/** The pods that belong to one group of a workload, and to one replica of it, by UID. */
export class PodGroup {
  readonly #clock: Clock;
  readonly #unscheduled = new Set<string>();
  readonly #assumed = new Set<string>();
  readonly #assigned = new Set<string>();
  #deadline = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of pods that are known. */
  get size(): number {
    return this.#unscheduled.size + this.#assumed.size + this.#assigned.size;
  }

  /** The pods that have no node yet. */
  get unscheduled(): readonly string[] {
    return [...this.#unscheduled];
  }

  /** The pods whose nodes are reserved and that are not bound yet. */
  get assumed(): readonly string[] {
    return [...this.#assumed];
  }

  /** The number of pods that have a node or one reserved for them. */
  get scheduledCount(): number {
    return this.#assumed.size + this.#assigned.size;
  }

  /** Returns how long a pod may still wait for others. The time begins anew once it has passed. */
  timeLeft(): number {
    const now = this.#clock.monotonic();
    if (this.#deadline <= now) this.#deadline = now + schedulingTimeoutMs;
    return this.#deadline - now;
  }

  note({metadata, spec}: Frozen<Pod>): void {
    const uid = metadata?.uid ?? '';
    if (spec?.nodeName) {
      this.delete(uid);
      this.#assigned.add(uid);
    } else if (!this.#assumed.has(uid)) this.#unscheduled.add(uid);
  }

  delete(uid: string): void {
    for (const pods of [this.#unscheduled, this.#assumed, this.#assigned]) pods.delete(uid);
  }

  /** A node is reserved for the pod. */
  assume(uid: string): void {
    if (this.#unscheduled.delete(uid)) this.#assumed.add(uid);
  }

  /** The pod's node is not reserved any more. */
  forget(uid: string): void {
    if (this.#assumed.delete(uid)) this.#unscheduled.add(uid);
  }
}

const keyOf = ({metadata}: Frozen<Pod>, {name, podGroup, podGroupReplicaKey = ''}: Reference): string =>
  [metadata?.namespace ?? '', name, podGroup, podGroupReplicaKey].join('/');

/** The groups of all pods that refer to a workload. */
export class PodGroups {
  readonly #clock: Clock;
  readonly #groups = new Map<string, PodGroup>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the group of a pod; undefined if the pod is not known, or refers to no workload. */
  of(pod: Frozen<Pod>): PodGroup | undefined {
    const ref = workloadRefOf(pod);
    return ref && this.#groups.get(keyOf(pod, ref));
  }

  /** Notes a change of a pod. A pod that has ended counts as deleted. */
  note({type, object: pod}: Change<Pod>): void {
    const ref = workloadRefOf(pod);
    if (!ref) return;
    const key = keyOf(pod, ref);
    const group = this.#groups.get(key) ?? new PodGroup(this.#clock);
    if (type === 'deleted' || isTerminal(pod)) group.delete(pod.metadata?.uid ?? '');
    else group.note(pod);
    if (group.size === 0) this.#groups.delete(key);
    else this.#groups.set(key, group);
  }
}
