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
import {Cache} from './cache/cache.js';
import type {NodeInfo} from './cache/node-info.js';
import {PodCounts} from './cache/pod-counts.js';
import {podInfoOf, type PodInfo} from './cache/pod-info.js';
import {choose, totalScores} from './choose.js';
import {DeviceReserver} from './devices.js';
import {findFitting, type Found} from './fit.js';
import {fitText, noClaimsText, noNodesText} from './fit-text.js';
import {hintsByEvent} from './hints.js';
import {SchedulerMetrics} from './metrics.js';
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
import type {Reservation} from './reservation.js';
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a plugin gave to a pod that has a node. */
interface Given {
  readonly plugin: PluginName;
  readonly reservation: Reservation;
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
  readonly #binding = new Set<Promise<void>>();
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
    this.#metrics.watch(this.queue, cache, () => this.#binding.size);
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
    await Promise.all([...this.#binding, this.#preemptor.ended()]);
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
    this.#place(queued, node, found, since);
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
      budgets: () => budgetsOf(lister(kinds.podDisruptionBudgets).list()),
    });
    this.#metrics.took('PostFilter', isCandidate(outcome) ? 'Success' : 'Unschedulable', info.pod.spec?.schedulerName ?? '', clock.monotonic() - begun);
    this.#metrics.preempted(isCandidate(outcome) ? outcome.victims.length : 0);
    if (!isCandidate(outcome)) return fail(outcome.forget ? '' : undefined, text(`${noClaimsText}, preemption: ${outcome.text}`));
    this.#preemptor.act(info, outcome);
    fail(outcome.node, text());
  }

  /** Takes the pod to be on the node from now on, and binds it. */
  #place(queued: QueuedPod, node: NodeInfo, {checks}: Found, since: number): void {
    const {info} = queued;
    const given: Given[] = checks.checks.flatMap(({plugin, check}) => {
      const reservation = check.reserve?.(node);
      return reservation ? [{plugin, reservation}] : [];
    });
    this.cache.assume(info, node.name);
    this.nominated.delete(info.uid);
    if (given.length > 0 && this.#parts.gate('NominatedNodeNameForExpectation')) this.#reporter.promised(info.pod, node.name);
    const binding = this.#bind(queued, node.name, given, since).finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  async #bind(queued: QueuedPod, node: string, given: readonly Given[], since: number): Promise<void> {
    const {clock, log, signal} = this.#parts;
    const {info} = queued;
    const profile = info.pod.spec?.schedulerName ?? '';
    try {
      for (const {plugin, reservation} of given) await this.#step('PreBind', plugin, profile, () => reservation.settle(info, signal));
      using _ = clock.hold();
      await this.#step('Bind', 'DefaultBinder', profile, () => this.#reporter.bind(info, node));
      if (this.queue.get(info.uid) === queued) this.queue.delete(info.uid);
      this.#metrics.attempted('scheduled', profile, clock.monotonic() - since);
      this.#metrics.scheduled(queued, clock.monotonic() - (queued.firstDue ?? since));
    } catch (error) {
      for (const {reservation} of given) reservation.undo(info);
      if (signal.aborted) return;
      log.v(1).warn({pod: info.key, node, err: error}, 'a pod could not be bound');
      this.#forget(info);
      this.#fail(queued, {reason: 'SchedulerError', message: messageOf(error), nominatedNode: ''}, new Set(), since);
    }
  }

  /** Runs a step that a plugin takes with a pod that has a node; what it fails with names both. */
  async #step(point: 'PreBind' | 'Bind', plugin: string, profile: string, take: () => Promise<void>): Promise<void> {
    const {clock} = this.#parts;
    const begun = clock.monotonic();
    const took = (status: 'Success' | 'Error') => this.#metrics.took(point, status, profile, clock.monotonic() - begun);
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
    const placed = this.cache.pod(info.uid);
    if (!placed?.assumed) return;
    this.cache.removePod(info.uid);
    const old: Frozen<Pod> = {...info.pod, spec: {...info.pod.spec!, nodeName: placed.node}};
    this.queue.moveOn({kind: 'AssignedPodDelete', old});
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
