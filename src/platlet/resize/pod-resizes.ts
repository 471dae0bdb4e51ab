// The resizes of a node's pods: what is allocated to each pod, and which changes of specs wait for room.
//
//     spec ─accepted─> allocated ─applied by its worker─> actuated

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, zeroQuantity} from '#src/api/quantity.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import {featuresForUpdate} from '#src/model/pod/required-features.js';
import {podRequests} from '#src/model/pod/requests.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {ResizeConditions} from './conditions.js';
import {resizeDecision, type ResizeDecision, type ResizeNode} from '#src/platlet/pod/admission/resize.js';
import {pendingMessage, startedMessage} from '#src/platlet/pod/resources/messages.js';
import {asksForResize, resizeOperations} from '#src/platlet/pod/resources/operations.js';
import {comparePending} from '#src/platlet/pod/resources/pending-order.js';
import {resourcesOf, withResources} from '#src/platlet/pod/resources/pod-resources.js';
import type {ResourceState} from './resource-state.js';

/** What the agent has of resizes on its node. */
export interface NodeResizes {
  /** What is allocated to pods. */
  readonly allocated: ResourceState;
  /** What containers were created or updated with. */
  readonly actuated: ResourceState;
  readonly node: ResizeNode;
  /** Whether all pods of the node are known. */
  isReady(): boolean;
  /** The features that the node declares; undefined if it declares none and none are asked for. */
  readonly declaredFeatures?: readonly string[] | undefined;
}

export interface PodResizesParts {
  readonly resizes: NodeResizes;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly metrics: Pick<
    AgentMetrics,
    'pendingResizes' | 'resizesInProgress' | 'infeasibleResizes' | 'acceptedDeferredResizes' | 'requestedResizes' | 'resizeDuration'
  >;
  readonly signal: AbortSignal;
}

/** Why pending resizes are tried again. */
export type RetryTrigger = 'pod_resized' | 'pod_updated' | 'pods_added' | 'pods_removed' | 'periodic_retry';

/** Acts on what is decided. */
export interface ResizeFollower {
  /** Called with a pod whose allocation or conditions have changed. */
  changed(pod: Frozen<Pod>): void;
  /** Called with pods that have to make room of a resource. */
  preempt(victims: readonly Frozen<Pod>[], resource: string): void;
}

/** How soon pending resizes are tried again by themselves: before all pods are known, and after. */
const firstRetryMs = 30_000;
const retryMs = 180_000;

const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';

/** Decides what is allocated to the pods of a node. */
export class PodResizes {
  readonly conditions: ResizeConditions;
  readonly #parts: PodResizesParts;
  /** The pods as they are to be, by uid. */
  readonly #desired = new Map<string, Frozen<Pod>>();
  readonly #pending = new Set<string>();
  #hasNew = false;
  #timer: Disposable | undefined;
  #follower: ResizeFollower | undefined;

  constructor(parts: PodResizesParts) {
    this.#parts = parts;
    this.conditions = new ResizeConditions(parts);
  }

  /** What containers were created or updated with. */
  get actuated(): ResourceState {
    return this.#parts.resizes.actuated;
  }

  /** Whether the resources of pods themselves can be resized. */
  get podLevel(): boolean {
    return this.#parts.resizes.node.podLevel;
  }

  get metrics(): PodResizesParts['metrics'] {
    return this.#parts.metrics;
  }

  /** Begins to try pending resizes regularly. */
  follow(follower: ResizeFollower): void {
    this.#follower = follower;
    this.#schedule(firstRetryMs);
    onAbort(this.#parts.signal, () => this.#timer?.[Symbol.dispose]());
  }

  #schedule(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    if (!this.#parts.signal.aborted) this.#timer = this.#parts.clock.schedule(ms, () => this.retry('periodic_retry'));
  }

  /** Returns a pod with the resources that are allocated to it. */
  allocatedTo(pod: Frozen<Pod>): Frozen<Pod> {
    const {allocated, node} = this.#parts.resizes;
    return withResources(pod, allocated.get(uidOf(pod)), node.podLevel);
  }

  /** Resolves once what is allocated is in its file. */
  saved(): Promise<void> {
    return this.#parts.resizes.allocated.save();
  }

  /**
   * Called with a pod that the node has taken: what is allocated to it already, or else what it asks for, is its own.
   */
  admitted(pod: Frozen<Pod>): void {
    const uid = uidOf(pod);
    const own = this.allocatedTo(pod);
    this.#desired.set(uid, pod);
    this.#allocate(own);
    this.conditions.restore(pod);
    if (own === pod) return;
    this.#pending.add(uid);
    this.#hasNew = true;
  }

  /** Called once all pods that came together are admitted. */
  allAdmitted(): void {
    if (!this.#hasNew) return;
    this.#hasNew = false;
    this.retry('pods_added');
  }

  /** Called with a newer state of a pod that was admitted. */
  changed(pod: Frozen<Pod>): void {
    const uid = uidOf(pod);
    const before = this.#desired.get(uid);
    this.#desired.set(uid, pod);
    if (!before) return;
    this.#checkFeatures(before, pod);
    if (!asksForResize(before, pod)) return;
    for (const operation of resizeOperations(before, pod)) this.metrics.requestedResizes.add({...operation});
    if (this.allocatedTo(pod) === pod) {
      this.#pending.delete(uid);
      this.conditions.clear(uid, 'pending');
      return;
    }
    this.#pending.add(uid);
    this.retry('pod_updated');
  }

  #checkFeatures(before: Frozen<Pod>, now: Frozen<Pod>): void {
    const {declaredFeatures} = this.#parts.resizes;
    if (!declaredFeatures) return;
    const missing = featuresForUpdate(before as Pod, now.spec as NonNullable<Pod['spec']>).filter(name => !declaredFeatures.includes(name));
    const text = `Pod requires node features that are not available: ${missing.join(', ')}`;
    if (missing.length > 0) this.#parts.events.warning(now, 'FailedNodeDeclaredFeaturesCheck', text);
  }

  /** Called with pods of which only the statuses have changed: a resize to less may be done, which makes room. */
  reconciled(pods: readonly Frozen<Pod>[]): void {
    let hasShrunk = false;
    for (const pod of pods) {
      const before = this.#desired.get(uidOf(pod));
      if (!before) continue;
      this.#desired.set(uidOf(pod), pod);
      hasShrunk ||= this.#pending.size > 0 && this.#takesLess(before, pod);
    }
    if (hasShrunk) this.retry('pod_resized');
  }

  #takesLess(before: Frozen<Pod>, now: Frozen<Pod>): boolean {
    const [old, current] = [before, now].map(pod => podRequests(this.allocatedTo(pod), {podLevel: true, useStatusResources: true}));
    return ['cpu', 'memory'].some(name => compareQuantities(current!.get(name) ?? zeroQuantity, old!.get(name) ?? zeroQuantity) < 0);
  }

  /** Called when a pod has left its source. */
  remove(uid: string): void {
    this.#desired.delete(uid);
    this.#pending.delete(uid);
    this.#parts.resizes.allocated.remove(uid);
    this.retry('pods_removed');
  }

  /** Called when nothing of a pod runs any more. */
  ended(uid: string): void {
    this.conditions.remove(uid);
    this.actuated.remove(uid);
  }

  /** Forgets the pods that are not known. */
  sweep(isKnown: (uid: string) => boolean): void {
    const {allocated, actuated} = this.#parts.resizes;
    allocated.sweep(isKnown);
    actuated.sweep(isKnown);
  }

  /** Tries all pending resizes, as far as all pods of the node are known. */
  retry(trigger: RetryTrigger): void {
    const {resizes} = this.#parts;
    const isReady = resizes.isReady();
    this.#schedule(isReady ? retryMs : firstRetryMs);
    if (!isReady) return;
    const waiting = [...this.#pending].flatMap(uid => {
      const desired = this.#desired.get(uid);
      return desired ? [{desired, allocated: this.allocatedTo(desired), since: this.conditions.get(uid).pending?.since}] : [];
    });
    this.#pending.clear();
    for (const {desired, allocated} of waiting.sort(comparePending)) this.#try(desired, allocated, trigger);
  }

  #try(desired: Frozen<Pod>, allocated: Frozen<Pod>, trigger: RetryTrigger): void {
    const uid = uidOf(desired);
    const before = this.conditions.get(uid);
    if (allocated === desired) this.conditions.clear(uid, 'pending');
    else {
      const decision = resizeDecision(this.#parts.resizes.node, desired, allocated);
      if (decision.is === 'deferred' || decision.is === 'preempting') this.#pending.add(uid);
      if (decision.is === 'accepted') this.#accept(desired);
      else if (decision.is === 'preempting') this.#follower?.preempt(decision.victims, decision.resource);
      else this.#report(desired, decision);
    }
    const after = this.conditions.get(uid);
    if (before.pending?.reason === 'Deferred' && !after.pending) this.metrics.acceptedDeferredResizes.add({retry_trigger: trigger});
    if (before.pending !== after.pending || before.progress !== after.progress) this.#follower?.changed(desired);
  }

  #accept(pod: Frozen<Pod>): void {
    const uid = uidOf(pod);
    const generation = pod.metadata?.generation ?? 0;
    this.#allocate(pod);
    this.conditions.clear(uid, 'pending');
    this.conditions.clear(uid, 'progress');
    this.conditions.setInProgress(uid, generation);
    this.#parts.events.normal(pod, 'ResizeStarted', startedMessage(pod, generation));
  }

  #report(pod: Frozen<Pod>, decision: Extract<ResizeDecision, {readonly message: string}>): void {
    const {is, message, detail, isEvent} = decision;
    const generation = pod.metadata?.generation ?? 0;
    const reason = is === 'infeasible' ? 'Infeasible' : 'Deferred';
    if (detail !== undefined) this.metrics.infeasibleResizes.add({reason_detail: detail});
    const isNew = this.conditions.setPending(uidOf(pod), reason, message, generation);
    if (isNew && isEvent) this.#parts.events.warning(pod, `Resize${reason}`, pendingMessage(pod, reason, generation, message));
  }

  #allocate(pod: Frozen<Pod>): void {
    const {allocated, node} = this.#parts.resizes;
    allocated.set(uidOf(pod), resourcesOf(pod, node.podLevel)).catch((error: unknown) => {
      // The worker does nothing before it is written.
      this.#parts.log.error({pod: pod.metadata?.name, err: error}, 'the resources allocated to a pod could not be written');
    });
  }
}
