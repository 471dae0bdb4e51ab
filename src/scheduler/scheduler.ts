import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {runStepsYielding} from '#src/base/steps.js';
import {yieldToEventLoop, Yielder} from '#src/base/turn.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {messageOf} from '#src/base/message.js';
import {Cache} from './cache/cache.js';
import {NodeMemo} from './cache/node-memo.js';
import {podInfoOf, type PodInfo} from './cache/pod-info.js';
import {Decider, type Decision} from './decider.js';
import {Devices} from '#src/scheduler/devices/devices.js';
import {AllocationError} from '#src/scheduler/devices/types.js';
import {noNodesText} from '#src/scheduler/framework/fit-error.js';
import {hintsByEvent} from './hints.js';
import {SchedulerMetrics} from './metrics.js';
import {PodBinder} from './pod-binder.js';
import type {Cluster, PluginName} from '#src/scheduler/framework/plugin.js';
import type {SchedulingFailure} from './pod-status.js';
import {Preemptor} from './preemption/preemptor.js';
import type {Profile} from './profile.js';
import {Nominator} from './queue/nominator.js';
import type {QueuedPod} from './queue/queued-pod.js';
import {SchedulingQueue} from './queue/queue.js';
import {Reporter} from './reports.js';
import type {Settings} from './settings.js';
import {VolumeBinder} from './volumes/binder.js';

export interface SchedulerParts extends Settings {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
}

/** The most repetitions of a decision because of concurrent changes. */
const maxAttempts = 10;

interface NoNodes {
  readonly type: 'no nodes';
}

/** Schedules pending pods: one after another, and each is bound while the next ones are scheduled. */
export class Scheduler {
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominator = new Nominator();
  readonly volumes: VolumeBinder;
  readonly devices: Devices;
  readonly #parts: SchedulerParts;
  readonly #cluster: Cluster;
  readonly #reporter: Reporter;
  readonly #preemptor: Preemptor;
  readonly #metrics: SchedulerMetrics;
  readonly #binder: PodBinder;
  readonly #decider: Decider;
  readonly #pieces: Yielder;
  #wake: () => void = () => {};
  /** Holds a virtual clock while a pod is active. */
  #hold: Disposable | undefined;

  constructor(parts: SchedulerParts) {
    const {naming, clock, lister, gate, meter} = parts;
    this.#parts = parts;
    this.#pieces = new Yielder(clock);
    const cache = (this.cache = new Cache(naming));
    this.volumes = new VolumeBinder(parts);
    this.devices = new Devices({...parts, countCreation: status => this.#metrics.countClaimCreation(status)});
    this.#reporter = new Reporter({...parts, pods: () => lister(kinds.pods)});
    this.#preemptor = new Preemptor({
      ...parts,
      nominatedPods: node => this.nominator.podsFor(node),
      activate: uid => this.queue.activate(uid),
    });
    this.#metrics = new SchedulerMetrics(meter);
    this.#cluster = {
      naming,
      get nodes() {
        return cache.nodes;
      },
      node: name => cache.node(name),
      nodesWithImage: name => cache.nodesWithImage(name),
      nodesWithAffinity: cache.nodesWithAffinity,
      nodesWithRequiredAntiAffinity: cache.nodesWithRequiredAntiAffinity,
      memo: new NodeMemo(),
      labelsOf: namespace => lister(kinds.namespaces).get(namespace)?.metadata?.labels,
      volumes: this.volumes,
      devices: this.devices,
      clock,
      log: parts.log,
      lister,
      gate,
    };
    this.#decider = new Decider({
      ...parts,
      cluster: this.#cluster,
      nominator: this.nominator,
      metrics: this.#metrics,
      budgets: () => lister(kinds.podDisruptionBudgets),
    });
    const hints = hintsByEvent(
      [...parts.profiles.values()].flatMap(({filters}) => filters),
      this.#cluster,
    );
    this.queue = new SchedulingQueue({
      ...parts.backoff,
      clock,
      unschedulableTimeoutMs: parts.unschedulableTimeoutMs,
      popFromBackoff: gate('SchedulerPopFromBackoffQ'),
      gateOf: pod => this.#gateOf(pod),
      hintsOn: event => hints.get(event) ?? [],
      onReady: () => {
        this.#hold ??= clock.hold();
        this.#wake();
      },
      onError: error => parts.log.error({err: error}, 'an event could not be applied to the queue'),
      onIncoming: (subQueue, event) => this.#metrics.countIncoming(subQueue, event),
      onRejection: (plugin, {pod}, by) => this.#metrics.countRejection(plugin, pod.spec?.schedulerName ?? '', by),
    });
    this.#binder = new PodBinder({
      ...parts,
      cache,
      queue: this.queue,
      nominator: this.nominator,
      reporter: this.#reporter,
      metrics: this.#metrics,
      failed: (queued, message, since) =>
        this.#handleFailure(queued, {reason: 'SchedulerError', message, nominatedNode: ''}, new Set(), since),
    });
    this.#metrics.watch(this.queue, cache, () => this.#binder.binding);
  }

  /** Whether the pod names one of this scheduler's profiles. */
  isOurs({spec}: Frozen<Pod>): boolean {
    return this.#parts.profiles.has(spec?.schedulerName ?? '');
  }

  podInfo(pod: Frozen<Pod>): PodInfo {
    return podInfoOf(pod, {podLevel: this.#parts.gate('PodLevelResources')});
  }

  /** Schedules until the signal aborts; resolves once nothing is being bound. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), {once: true});
    while (!signal.aborted) {
      const pod = this.queue.pop();
      if (pod) {
        await this.#schedule(pod, signal);
        this.queue.done();
        await yieldToEventLoop(); // Lets bindings and watch events proceed between any two pods.
        continue;
      }
      this.#hold?.[Symbol.dispose]();
      this.#hold = undefined;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    this.queue.close();
    this.#hold?.[Symbol.dispose]();
    await Promise.all([this.#binder.whenIdle(), this.#preemptor.whenIdle()]);
    this.#metrics.stop();
  }

  /** Returns the plugin that gates a pod. */
  #gateOf(info: PodInfo): PluginName | undefined {
    const {pod, uid} = info;
    if (pod.spec?.schedulingGates?.length) return 'SchedulingGates';
    if (this.#preemptor.isPreemptingFor(uid)) return 'DefaultPreemption';
    const filters = this.#parts.profiles.get(pod.spec?.schedulerName ?? '')?.filters;
    return filters?.find(filter => filter.gates?.(info, this.#cluster))?.plugin;
  }

  async #schedule(queued: QueuedPod, signal: AbortSignal): Promise<void> {
    const {clock, log} = this.#parts;
    const {key, uid} = queued.info;
    const profile = this.#profileOf(queued);
    if (!profile || this.cache.isAssumed(uid)) return;
    const since = clock.monotonic();
    try {
      const decision = await this.#decide(queued, profile, since);
      if (!decision || signal.aborted) return;
      if (decision.type !== 'no nodes') return this.#apply(queued, decision, since);
      // Differs from upstream: the pod waits for a node, where upstream retries after each backoff.
      this.#handleFailure(
        queued,
        {reason: 'Unschedulable', message: noNodesText, nominatedNode: ''},
        new Set<PluginName>(['NoNodes']),
        since,
      );
    } catch (error) {
      if (error instanceof AllocationError) log.warn({pod: key, reason: error.message}, 'devices of a pod could not be allocated');
      else log.error({pod: key, err: error}, 'a pod could not be scheduled for a fault');
      this.#handleFailure(queued, {reason: 'SchedulerError', message: messageOf(error), nominatedNode: ''}, new Set(), since);
    }
  }

  /** Returns the pod's profile; undefined if the pod is being deleted. */
  #profileOf(queued: QueuedPod): Profile | undefined {
    const {events, profiles} = this.#parts;
    const {pod, key, uid} = queued.info;
    if (!pod.metadata?.deletionTimestamp) return profiles.get(pod.spec?.schedulerName ?? '');
    events.warning(pod, 'FailedScheduling', `skip schedule deleting pod: ${key}`);
    this.queue.delete(uid);
    return undefined;
  }

  /**
   * Decides on a pod; undefined if it was deleted or bound meanwhile. A decision that no longer holds is made again.
   */
  async #decide(queued: QueuedPod, profile: Profile, since: number): Promise<Decision | NoNodes | undefined> {
    const {uid} = queued.info;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      if (this.#cluster.nodes.length === 0) return {type: 'no nodes'};
      await this.devices.load(queued.info);
      const decision = await this.#decideOnce(queued.info, profile, since);
      if (this.queue.get(uid) !== queued || queued.subQueue !== 'none' || this.cache.isAssumed(uid) || !this.#profileOf(queued))
        return undefined;
      const validDecision = this.#decider.revalidate(decision);
      if (validDecision) return validDecision;
    }
    throw new Error(`the nodes that were chosen changed ${maxAttempts} times before anything could be done with them`);
  }

  /** Decides on a pod with the nodes frozen. */
  async #decideOnce(info: PodInfo, profile: Profile, since: number): Promise<Decision> {
    this.cache.freeze();
    try {
      return await runStepsYielding(this.#decider.decide(info, profile, since), this.#pieces);
    } finally {
      await runStepsYielding(this.cache.applyDeferred(), this.#pieces);
    }
  }

  #apply(queued: QueuedPod, decision: Decision, since: number): void {
    const fail = (nominatedNode: string | undefined, message: string) =>
      this.#handleFailure(queued, {reason: 'Unschedulable', message, nominatedNode}, decision.filterResult.diagnosis.rejectedBy, since);
    switch (decision.type) {
      case 'node':
        return this.#binder.assumeAndBind(queued, decision.node, decision.filterResult.filterSet, since);
      case 'preempt':
        this.#preemptor.preempt(queued.info, decision.candidate);
        return fail(decision.candidate.node, decision.text);
      case 'none':
        return fail(decision.nominatedNode, decision.text);
    }
  }

  /** Returns a pod to the queue and reports why. */
  #handleFailure(queued: QueuedPod, report: SchedulingFailure, rejectedBy: ReadonlySet<PluginName>, since: number): void {
    const {uid, key, pod} = queued.info;
    this.#metrics.countAttempt(
      report.reason === 'Unschedulable' ? 'unschedulable' : 'error',
      pod.spec?.schedulerName ?? '',
      this.#parts.clock.monotonic() - since,
    );
    const known = this.#parts.lister(kinds.pods).get(key);
    if (known?.metadata?.uid !== uid || known.spec?.nodeName) return this.queue.delete(uid);
    queued.info = this.podInfo(known);
    this.queue.addUnschedulable(queued, rejectedBy);
    if (report.nominatedNode !== undefined) this.nominator.set(queued.info, report.nominatedNode);
    this.#reporter.reportFailure(known, report);
  }
}
