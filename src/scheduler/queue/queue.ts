import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {Heap} from '#src/base/heap.js';
import {InOrder} from '#src/base/in-order.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {ClusterEvent, EventKind, QueueEvent} from '#src/scheduler/framework/events.js';
import type {PluginName, PluginQueueingHint} from '#src/scheduler/framework/plugin.js';
import {backoffEnd, type BackoffTimes} from './backoff.js';
import {InFlight} from './in-flight.js';
import {queuedPod, type SubQueue, type QueuedPod} from './queued-pod.js';

export interface QueueOptions extends BackoffTimes {
  readonly clock: Clock;
  /** How long an unschedulable pod waits for events before it is retried anyway. */
  readonly unschedulableTimeoutMs: number;
  /** Whether pods in backoff are retried early when no other pod is pending. */
  readonly popFromBackoff: boolean;
  /** Returns the plugin that gates a pod from being scheduled. */
  gateOf(pod: PodInfo): PluginName | undefined;
  /** Returns the plugins whose hints handle an event. */
  hintsOn(event: EventKind): readonly PluginQueueingHint[];
  /** Called when a pod may be ready to pop. */
  onReady(): void;
  /** Called when a plugin starts or stops rejecting a pending pod. */
  onRejection(plugin: PluginName, pod: PodInfo, by: 1 | -1): void;
  /** Called when a pod enters a sub-queue, with the event that moved it. */
  onIncoming(subQueue: Exclude<SubQueue, 'none'>, event: QueueEvent): void;
  /** Called when it cannot be found out which pods an event helps. */
  onError(error: unknown): void;
}

interface Entry {
  readonly pod: QueuedPod;
  readonly generation: number;
  /** The tie-breaker among otherwise equal entries. */
  readonly order: number;
  readonly until: number;
}

/** The plugins whose events requeue a pod. A gated pod may have been rejected before. */
const blockingPlugins = ({rejectedBy, gatedBy}: QueuedPod): readonly PluginName[] => (gatedBy ? [...rejectedBy, gatedBy] : [...rejectedBy]);
const isCurrent = ({pod, generation}: Entry): boolean => pod.generation === generation;
/** Higher priority first, then the longer wait. */
const byPriority = (a: Entry, b: Entry): number =>
  b.pod.info.priority - a.pod.info.priority || a.pod.since - b.pod.since || a.order - b.order;
/** Backoffs that end within the same second are equal: then priority decides. */
const windowMs = 1000;
const byBackoffEnd = (a: Entry, b: Entry): number => Math.floor(a.until / windowMs) - Math.floor(b.until / windowMs) || byPriority(a, b);

/**
 * The queue of pending pods. Active ones are popped by priority; unschedulable ones wait for an event that may
 * help them, then for the end of their backoff. Each pod is in one sub-queue at most.
 */
export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #backoffEndOf: (pod: QueuedPod) => number;
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active = new Heap<Entry>(byPriority);
  readonly #backoff = new Heap<Entry>(byBackoffEnd);
  /** Pods whose last attempt ended with an error: they always wait for their backoff. */
  readonly #errorBackoff = new Heap<Entry>((a, b) => a.until - b.until || a.order - b.order);
  /** Unschedulable pods, by each plugin that rejected or gates them. */
  readonly #unschedulable = new Map<PluginName, Set<QueuedPod>>();
  readonly #sizes = {active: 0, backoff: 0, unschedulable: 0, gated: 0};
  #order = 0;
  #arrivals = 0;
  #cycle = 0;
  /** Events whose pods are moved in pieces, one event after another. */
  readonly #moves: InOrder;
  readonly #pieces: Yielder;
  #timer: {readonly at: number; readonly timer: Disposable} | undefined;
  #closed = false;
  readonly #inFlight = new InFlight();

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#backoffEndOf = backoffEnd(options);
    this.#moves = new InOrder(error => options.onError(error));
    this.#pieces = new Yielder(options.clock);
  }

  /** The number of pods in each sub-queue. */
  get sizes(): Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>> {
    return this.#sizes;
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  /** Adds a pod that has not been tried yet. */
  add(info: PodInfo, event: QueueEvent = 'UnschedulablePodAdd'): void {
    const pod = queuedPod(info, this.#now);
    this.#pods.set(info.uid, pod);
    this.#toActive(pod, event);
  }

  /**
   * Stores a new state of a pod, in any sub-queue; `events` are the kinds of its changes. A pod that is not queued is
   * added.
   */
  update(info: PodInfo, old: Frozen<KubeObject>, events: readonly EventKind[]): void {
    const pod = this.#pods.get(info.uid);
    if (!pod) return this.add(info, 'UnschedulablePodUpdate');
    pod.info = info;
    if (this.#inFlight.isFor(pod))
      for (const kind of events) this.#inFlight.record({kind, old, now: info.pod}, ({uid}) => uid === info.uid);
    if (pod.subQueue !== 'unschedulable') return;
    for (const kind of events) {
      if (this.#move(pod, {kind, old, now: info.pod})) return;
    }
  }

  delete(uid: string): void {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#leave(pod);
    this.#pods.delete(uid);
  }

  /** Removes and returns the next pod to schedule. Events are recorded for it until `done`, as they may help it too. */
  pop(): QueuedPod | undefined {
    const entry = this.#next(this.#active) ?? (this.#options.popFromBackoff ? this.#popFromBackoff() : undefined);
    if (!entry) return undefined;
    const {pod} = entry;
    this.#leave(pod);
    pod.attempts++;
    pod.cycle = ++this.#cycle;
    pod.rejectedBy = new Set();
    pod.firstDue ??= this.#now;
    this.#inFlight.begin(pod);
    return pod;
  }

  /** Called when a popped pod was scheduled or returned to the queue, and waits for no permit. */
  done(pod: QueuedPod): void {
    this.#inFlight.end(pod);
  }

  /**
   * Returns a pod to the queue, with the plugins that rejected it. An empty set means an error: only backoff applies.
   */
  addUnschedulable(pod: QueuedPod, rejectedBy: ReadonlySet<PluginName>): void {
    if (this.#pods.get(pod.info.uid) !== pod || pod.subQueue !== 'none') return; // It was deleted or added again meanwhile.
    pod.since = this.#now;
    pod.rejectedBy = rejectedBy;
    if (rejectedBy.size === 0) {
      pod.errors++;
      this.#toBackoff(pod, 'ScheduleAttemptFailure');
    } else {
      pod.errors = 0;
      pod.unschedulableCount++;
      const helping = this.#inFlight.firstHelpful(pod, event => this.#helps(pod, event));
      if (helping) this.#retry(pod, helping.kind);
      else this.#toUnschedulable(pod, 'ScheduleAttemptFailure');
    }
  }

  /**
   * Requeues the unschedulable pods that the event may make schedulable, limited to those that `only` accepts: in
   * pieces, after those of earlier events. Pods that become unschedulable afterwards are not affected: they were tried
   * with what the event changed, or it was recorded for them.
   */
  moveOn(event: ClusterEvent, only: (pod: PodInfo) => boolean = () => true): void {
    const hints = this.#options.hintsOn(event.kind);
    if (hints.length === 0) return;
    this.#inFlight.record(event, only);
    const plugins = hints.map(({plugin}) => plugin).filter(plugin => this.#unschedulable.get(plugin)?.size);
    if (plugins.length === 0) return;
    const last = this.#arrivals;
    this.#moves.add(() => this.#inPieces(this.#movesOn(event, plugins, pod => pod.arrival <= last && only(pod.info))));
  }

  *#movesOn(event: ClusterEvent, plugins: readonly PluginName[], concerns: (pod: QueuedPod) => boolean): Steps<void> {
    const seen = new Set<QueuedPod>();
    for (const plugin of plugins) {
      for (const pod of this.#unschedulable.get(plugin) ?? []) {
        if (this.#closed) return;
        if (!seen.has(pod) && concerns(pod)) this.#move(pod, event);
        seen.add(pod);
        yield;
      }
    }
  }

  /** Begins work at once. Returns a promise unless it is done. */
  #inPieces(work: Steps<void>): Promise<void> | undefined {
    for (;;) {
      const pause = this.#pieces.pause();
      if (pause) return this.#goOnAfter(pause, work);
      if (work.next().done) return undefined;
    }
  }

  async #goOnAfter(pause: Promise<void>, work: Steps<void>): Promise<void> {
    using _ = this.#options.clock.hold();
    await pause;
    await runStepsYielding(work, this.#pieces);
  }

  /** Moves a pending pod to the active queue. */
  activate(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod && (pod.subQueue === 'unschedulable' || pod.subQueue === 'backoff')) this.#toActive(pod, 'ForceActivate');
  }

  close(): void {
    this.#closed = true;
    this.#timer?.timer[Symbol.dispose]();
    this.#timer = undefined;
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #move(pod: QueuedPod, event: ClusterEvent): boolean {
    const helps = this.#helps(pod, event);
    if (helps) this.#retry(pod, event.kind);
    return helps;
  }

  #helps(pod: QueuedPod, event: ClusterEvent): boolean {
    return this.#options
      .hintsOn(event.kind)
      .some(({plugin, helps}) => (pod.gatedBy === plugin || pod.rejectedBy.has(plugin)) && helps(pod.info, event));
  }

  #retry(pod: QueuedPod, event: QueueEvent): void {
    if (this.#backoffEndOf(pod) > this.#now) this.#toBackoff(pod, event);
    else this.#toActive(pod, event);
  }

  #toActive(pod: QueuedPod, event: QueueEvent): void {
    if (this.#isGated(pod, event)) return;
    this.#enter(pod, 'active', event);
    this.#active.push(this.#entry(pod));
    this.#options.onReady();
  }

  #toBackoff(pod: QueuedPod, event: QueueEvent): void {
    if (this.#isGated(pod, event)) return;
    this.#enter(pod, 'backoff', event);
    const until = this.#backoffEndOf(pod);
    (pod.rejectedBy.size === 0 ? this.#errorBackoff : this.#backoff).push(this.#entry(pod, until));
    this.#wakeAt(until);
    if (this.#options.popFromBackoff) this.#options.onReady();
  }

  #toUnschedulable(pod: QueuedPod, event: QueueEvent): void {
    this.#enter(pod, 'unschedulable', event);
    pod.arrival = ++this.#arrivals;
    for (const plugin of blockingPlugins(pod)) {
      const pods = this.#unschedulable.get(plugin);
      if (pods) pods.add(pod);
      else this.#unschedulable.set(plugin, new Set([pod]));
      this.#options.onRejection(plugin, pod.info, 1);
    }
    this.#wakeAt(pod.since + this.#options.unschedulableTimeoutMs);
  }

  /** Keeps a gated pod in the unschedulable sub-queue. */
  #isGated(pod: QueuedPod, event: QueueEvent): boolean {
    const gate = this.#options.gateOf(pod.info);
    if (gate === undefined) {
      if (pod.gatedBy) this.#leave(pod);
      pod.gatedBy = undefined;
      return false;
    }
    if (pod.gatedBy !== gate || pod.subQueue !== 'unschedulable') {
      this.#leave(pod);
      pod.gatedBy = gate;
      this.#toUnschedulable(pod, event);
    }
    return true;
  }

  #enter(pod: QueuedPod, subQueue: Exclude<SubQueue, 'none'>, event: QueueEvent): void {
    this.#leave(pod);
    pod.subQueue = subQueue;
    this.#count(pod, 1);
    this.#options.onIncoming(subQueue, event);
  }

  #leave(pod: QueuedPod): void {
    if (pod.subQueue === 'none') return;
    this.#count(pod, -1);
    if (pod.subQueue === 'unschedulable') {
      for (const plugin of blockingPlugins(pod)) {
        this.#unschedulable.get(plugin)?.delete(pod);
        this.#options.onRejection(plugin, pod.info, -1);
      }
    }
    pod.subQueue = 'none';
    pod.generation++;
  }

  #count(pod: QueuedPod, by: 1 | -1): void {
    if (pod.subQueue !== 'none') this.#sizes[pod.gatedBy ? 'gated' : pod.subQueue] += by;
  }

  #entry(pod: QueuedPod, until = 0): Entry {
    return {pod, generation: pod.generation, order: this.#order++, until};
  }

  #next(heap: Heap<Entry>): Entry | undefined {
    for (let entry = heap.pop(); entry; entry = heap.pop()) if (isCurrent(entry)) return entry;
    return undefined;
  }

  #popFromBackoff(): Entry | undefined {
    const entry = this.#next(this.#backoff);
    if (entry) this.#options.onIncoming('active', 'PopFromBackoffQ');
    return entry;
  }

  /** One timer for whichever ends next, a backoff or the timeout of an unschedulable pod. */
  #wakeAt(at: number): void {
    if (this.#closed || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.timer[Symbol.dispose]();
    this.#timer = {at, timer: this.#options.clock.schedule(at - this.#now, () => this.#wake())};
  }

  #wake(): void {
    this.#timer = undefined;
    let next = Infinity;
    for (const heap of [this.#backoff, this.#errorBackoff]) next = Math.min(next, this.#flush(heap));
    // A gate is lifted by an event, never by a timeout.
    for (const pod of [...this.#unschedulable.values()].flatMap(pods => [...pods])) {
      if (pod.subQueue !== 'unschedulable' || pod.gatedBy) continue;
      const end = pod.since + this.#options.unschedulableTimeoutMs;
      if (end <= this.#now) this.#retry(pod, 'UnschedulableTimeout');
      else next = Math.min(next, end);
    }
    if (next < Infinity) this.#wakeAt(next);
  }

  /** Activates pods whose backoff has ended. Returns when the next one ends. */
  #flush(heap: Heap<Entry>): number {
    for (let entry = heap.peek(); entry; entry = heap.peek()) {
      if (isCurrent(entry) && entry.until > this.#now) return entry.until;
      heap.pop();
      if (isCurrent(entry)) this.#toActive(entry.pod, 'BackoffComplete');
    }
    return Infinity;
  }
}
