// What is said of the resizes of a node's pods.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {ConditionState} from '#src/platlet/pod/conditions.js';

/** A condition of a resize, without what all of them have. */
export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  /** The generation of the pod that it is about. */
  readonly generation: number;
  /** Since when it has its reason, in ms by the wall clock. */
  readonly since: number;
  /** When it was set last. */
  readonly setAt: number;
}

type Type = 'pending' | 'progress';
type Conditions = {readonly [T in Type]?: ResizeCondition};

const types: Readonly<Record<Type, string>> = {pending: 'PodResizePending', progress: 'PodResizeInProgress'};
const order: readonly Type[] = ['pending', 'progress'];

export interface ResizeConditionsParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: Pick<AgentMetrics, 'pendingResizes' | 'resizesInProgress'>;
}

const stateOf = (type: Type, {reason, message, generation, since, setAt}: ResizeCondition): ConditionState => ({
  type: types[type],
  status: 'True',
  ...(reason ? {reason} : {}),
  ...(message ? {message} : {}),
  ...(generation ? {observedGeneration: generation} : {}),
  lastProbeTime: wireTime(setAt),
  lastTransitionTime: wireTime(since),
});

/** The conditions of the resizes of pods, by uid. */
export class ResizeConditions {
  readonly #parts: ResizeConditionsParts;
  readonly #pods = new Map<string, Conditions>();
  #reasons: ReadonlySet<string> = new Set();

  constructor(parts: ResizeConditionsParts) {
    this.#parts = parts;
  }

  get(uid: string): Conditions {
    return this.#pods.get(uid) ?? {};
  }

  /** Returns the conditions of a pod as its status has them. */
  statesOf(uid: string): readonly ConditionState[] {
    const own = this.get(uid);
    return order.flatMap(type => (own[type] ? [stateOf(type, own[type])] : []));
  }

  /** A resize is not allocated. Returns whether its reason or its generation is another one. */
  setPending(uid: string, reason: string, message: string, generation: number): boolean {
    const before = this.get(uid).pending;
    this.#set(uid, 'pending', {reason, message, generation});
    return before?.reason !== reason || before.generation !== generation;
  }

  /**
   * A resize is being applied. The generation of one that goes on stays, as does its error unless there is another one.
   * Returns the generation if anything has changed.
   */
  setInProgress(uid: string, generation: number, error?: string): number | undefined {
    const before = this.get(uid).progress;
    const texts = error === undefined ? {reason: before?.reason ?? '', message: before?.message ?? ''} : {reason: 'Error', message: error};
    const now = {...texts, generation: before?.generation ?? generation};
    this.#set(uid, 'progress', now);
    return before?.reason === now.reason && before.message === now.message ? undefined : now.generation;
  }

  /** Returns the generation of the condition that was there; undefined if there was none. */
  clear(uid: string, type: Type): number | undefined {
    const {[type]: before, ...others} = this.get(uid);
    if (!before) return undefined;
    if (Object.keys(others).length > 0) this.#pods.set(uid, others);
    else this.#pods.delete(uid);
    this.#count();
    return before.generation;
  }

  /** Takes the conditions that an agent before has reported. */
  restore({metadata, status}: Frozen<Pod>): void {
    for (const {type, reason = '', message = '', observedGeneration = 0, lastTransitionTime} of status?.conditions ?? []) {
      const own = order.find(each => types[each] === type);
      if (!own) continue;
      const now = this.#parts.clock.now();
      const condition = {reason, message, generation: observedGeneration, since: parseTime(lastTransitionTime) ?? now, setAt: now};
      const uid = metadata?.uid ?? '';
      this.#pods.set(uid, {...this.get(uid), [own]: condition});
    }
    this.#count();
  }

  remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#count();
  }

  #set(uid: string, type: Type, condition: Omit<ResizeCondition, 'since' | 'setAt'>): void {
    const own = this.get(uid);
    const before = own[type];
    const now = this.#parts.clock.now();
    const since = before?.reason === condition.reason ? before.since : now;
    this.#pods.set(uid, {...own, [type]: {...condition, since, setAt: now}});
    this.#count();
  }

  #count(): void {
    const {pendingResizes, resizesInProgress} = this.#parts.metrics;
    const pending = new Map<string, number>();
    let inProgress = 0;
    for (const conditions of this.#pods.values()) {
      if (conditions.progress) inProgress++;
      const reason = conditions.pending?.reason.toLowerCase();
      if (reason !== undefined) pending.set(reason, (pending.get(reason) ?? 0) + 1);
    }
    for (const reason of this.#reasons) if (!pending.has(reason)) pendingResizes.remove({reason});
    for (const [reason, count] of pending) pendingResizes.set(count, {reason});
    this.#reasons = new Set(pending.keys());
    resizesInProgress.set(inProgress);
  }
}
