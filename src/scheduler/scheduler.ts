import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {nextTurn} from '#src/base/turn.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events.js';
import {messageOf} from '#src/base/message.js';
import {Cache} from './cache/cache.js';
import {PodCounts} from './cache/pod-counts.js';
import {podInfoOf, type PodInfo} from './cache/pod-info.js';
import {choose, totalScores} from './choose.js';
import {DeviceReserver} from './devices.js';
import {findFitting, type Found} from './fit.js';
import {fitText, noClaimsText, noNodesText} from './fit-text.js';
import {hintsByEvent} from './hints.js';
import {SchedulerMetrics} from './metrics.js';
import {Placer} from './placing.js';
import type {Cluster, PluginName} from './plugin.js';
import type {Report} from './pod-status.js';
import {budgetsOf} from './preemption/budgets.js';
import {isCandidate} from './preemption/candidates.js';
import {Preemptor} from './preemption/preemptor.js';
import {findVictims} from './preemption/search.js';
import type {Profile} from './profile.js';
import {Nominated} from './queue/nominated.js';
import type {QueuedPod} from './queue/queued-pod.js';
import {SchedulingQueue, type ClusterEvent} from './queue/queue.js';
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

/** Gives waiting pods to nodes: one after the other is decided, and each is bound while the next ones are. */
export class Scheduler {
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominated = new Nominated();
  readonly volumes: VolumeBinder;
  readonly #parts: SchedulerParts;
  readonly #cluster: Cluster;
  readonly #reporter: Reporter;
  readonly #preemptor: Preemptor;
  readonly #metrics: SchedulerMetrics;
  readonly #placer: Placer;
  /** Where in the order of nodes the next search begins. */
  #from = 0;
  #wake: () => void = () => {};
  /** Keeps a virtual clock from moving while a pod is due. */
  #hold: Disposable | undefined;

  constructor(parts: SchedulerParts) {
    const {naming, clock, lister, gate, meter} = parts;
    this.#parts = parts;
    const cache = (this.cache = new Cache(naming));
    this.volumes = new VolumeBinder(parts);
    this.#reporter = new Reporter({...parts, pods: () => lister(kinds.pods)});
    this.#preemptor = new Preemptor({...parts, promised: node => this.nominated.on(node), activate: uid => this.queue.activate(uid)});
    this.#metrics = new SchedulerMetrics(meter);
    this.#cluster = {
      naming,
      get nodes() {
        return cache.nodes;
      },
      node: name => cache.node(name),
      nodesWithImage: name => cache.nodesWithImage(name),
      counts: new PodCounts(),
      labelsOf: namespace => lister(kinds.namespaces).get(namespace)?.metadata?.labels,
      volumes: this.volumes,
      devices: new DeviceReserver(parts),
      lister,
      gate,
    };
    const hints = hintsByEvent([...parts.profiles.values()].flatMap(({filters}) => filters));
    this.queue = new SchedulingQueue({
      ...parts.backoff,
      clock,
      patienceMs: parts.patienceMs,
      popsFromBackoff: gate('SchedulerPopFromBackoffQ'),
      gateOf: pod => this.#gateOf(pod),
      hintsOn: event => (hints.get(event) ?? []).map(({plugin, helps}) => ({plugin, helps: (pod, {old, now}: ClusterEvent) => helps?.(pod, old, now, this.#cluster) ?? true})),
      ready: () => {
        this.#hold ??= clock.hold();
        this.#wake();
      },
      came: (place, event) => this.#metrics.came(place, event),
      rejected: (plugin, {pod}, by) => this.#metrics.rejected(plugin, pod.spec?.schedulerName ?? '', by),
    });
    this.#placer = new Placer({
      ...parts,
      cache,
      queue: this.queue,
      nominated: this.nominated,
      reporter: this.#reporter,
      metrics: this.#metrics,
      failed: (queued, message, since) => this.#fail(queued, {reason: 'SchedulerError', message, nominatedNode: ''}, new Set(), since),
    });
    this.#metrics.watch(this.queue, cache, () => this.#placer.binding);
  }

  /** Whether the pod asks for this scheduler. */
  isOurs({spec}: Frozen<Pod>): boolean {
    return this.#parts.profiles.has(spec?.schedulerName ?? '');
  }

  podInfo(pod: Frozen<Pod>): PodInfo {
    return podInfoOf(pod, {podLevel: this.#parts.gate('PodLevelResources')});
  }

  /** Schedules until the signal aborts; resolves once nothing is being bound any more. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), {once: true});
    while (!signal.aborted) {
      const pod = this.queue.pop();
      if (pod) {
        this.#schedule(pod);
        await nextTurn(); // Bindings and events of the server get their turn between any two pods.
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
    await Promise.all([this.#placer.ended(), this.#preemptor.ended()]);
    this.#metrics.stop();
  }

  /** Who keeps a pod from being tried at all. */
  #gateOf({pod, uid}: PodInfo): PluginName | undefined {
    if (pod.spec?.schedulingGates?.length) return 'SchedulingGates';
    return this.#preemptor.isActingFor(uid) ? 'DefaultPreemption' : undefined;
  }

  #schedule(queued: QueuedPod): void {
    const {clock, events, log, profiles} = this.#parts;
    const {pod, key, uid} = queued.info;
    const profile = profiles.get(pod.spec?.schedulerName ?? '');
    if (pod.metadata?.deletionTimestamp) {
      events.warning(pod, 'FailedScheduling', `skip schedule deleting pod: ${key}`);
      return this.queue.delete(uid);
    }
    if (!profile || this.cache.isAssumed(uid)) return;
    const since = clock.monotonic();
    try {
      this.#decide(queued, profile, since);
    } catch (error) {
      log.error({pod: key, err: error}, 'a pod could not be scheduled for a fault');
      this.#fail(queued, {reason: 'SchedulerError', message: messageOf(error), nominatedNode: ''}, new Set(), since);
    }
  }

  /** Gives a pod to the best node; where there is none the pod goes back to the queue. */
  #decide(queued: QueuedPod, profile: Profile, since: number): void {
    const {nominated} = this;
    const cluster = this.#cluster;
    const {clock, random} = this.#parts;
    const {info} = queued;
    const all = cluster.nodes.length;
    if (all === 0) {
      // Differs from upstream: the pod waits for a node, where upstream tries again after each backoff.
      return this.#fail(queued, {reason: 'Unschedulable', message: noNodesText, nominatedNode: ''}, new Set<PluginName>(['NoNodes']), since);
    }
    const own = info.pod.status?.nominatedNodeName || nominated.nodeOf(info.uid);
    const {filters, scores, percentage} = profile;
    const found = findFitting(info, {cluster, filters, promised: node => nominated.on(node), own, percentage, from: this.#from});
    const {fitting, looked} = found;
    const name = info.pod.spec?.schedulerName ?? '';
    const filtered = clock.monotonic();
    this.#metrics.took('Filter', fitting.length > 0 ? 'Success' : 'Unschedulable', name, filtered - since);
    this.#from = (this.#from + looked) % all;
    const [only] = fitting;
    if (!only) {
      this.#metrics.decided(filtered - since);
      return this.#makeRoom(queued, found, {own, since, preempts: profile.preempts});
    }
    const node = fitting.length === 1 ? only : choose(fitting, totalScores(info, fitting, scores, cluster), random);
    const chosen = clock.monotonic();
    this.#metrics.took('Score', 'Success', name, chosen - filtered);
    this.#metrics.decided(chosen - since);
    this.#placer.place(queued, node, found.checks, since);
  }

  /** Puts back a pod that fits nowhere, and makes others leave for it if that would help. */
  #makeRoom(queued: QueuedPod, found: Found, {own, since, preempts}: {readonly own: string | undefined; readonly since: number; readonly preempts: boolean}): void {
    const {info} = queued;
    const {diagnosis} = found;
    const {clock, lister, random} = this.#parts;
    const text = (afterwards?: string) => fitText(this.#cluster.nodes.length, diagnosis, afterwards);
    const fail = (nominatedNode: string | undefined, message: string) => this.#fail(queued, {reason: 'Unschedulable', message, nominatedNode}, diagnosis.rejectedBy, since);
    if (!preempts) return fail('', text());
    const begun = clock.monotonic();
    const outcome = findVictims(info, own, found, {
      cluster: this.#cluster,
      random,
      promised: node => this.nominated.on(node),
      budgets: budgetsOf(lister(kinds.podDisruptionBudgets)),
    });
    this.#metrics.took('PostFilter', isCandidate(outcome) ? 'Success' : 'Unschedulable', info.pod.spec?.schedulerName ?? '', clock.monotonic() - begun);
    this.#metrics.preempted(isCandidate(outcome) ? outcome.victims.length : 0);
    if (!isCandidate(outcome)) return fail(outcome.forget ? '' : undefined, text(`${noClaimsText}, preemption: ${outcome.text}`));
    this.#preemptor.act(info, outcome);
    fail(outcome.node, text());
  }

  /** Puts a pod back and tells why. */
  #fail(queued: QueuedPod, report: Report, rejectedBy: ReadonlySet<PluginName>, since: number): void {
    const {uid, key, pod} = queued.info;
    this.#metrics.attempted(report.reason === 'Unschedulable' ? 'unschedulable' : 'error', pod.spec?.schedulerName ?? '', this.#parts.clock.monotonic() - since);
    const known = this.#parts.lister(kinds.pods).get(key);
    if (known?.metadata?.uid !== uid || known.spec?.nodeName) return this.queue.delete(uid);
    queued.info = this.podInfo(known);
    this.queue.putBack(queued, rejectedBy);
    if (report.nominatedNode !== undefined) this.nominated.set(queued.info, report.nominatedNode);
    this.#reporter.failed(known, report);
  }
}
