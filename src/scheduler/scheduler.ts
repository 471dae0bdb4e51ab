import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {nextTurn} from '#src/base/turn.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Naming} from '#src/api/naming.js';
import type {EventRecorder} from '#src/runtime/events.js';
import {Cache} from './cache/cache.js';
import type {NodeInfo} from './cache/node-info.js';
import {PodCounts} from './cache/pod-counts.js';
import {podInfoOf, type PodInfo} from './cache/pod-info.js';
import {choose, totalScores} from './choose.js';
import type {EventKind} from './events.js';
import {filters} from './filters/index.js';
import {findFitting, type Found} from './fit.js';
import {asNote, fitText, noClaimsText, noNodesText} from './fit-text.js';
import {hintsByEvent} from './hints.js';
import type {Cluster, PluginName} from './plugin.js';
import {statusPatch, type Report} from './pod-status.js';
import {PodWrites} from './pod-writes.js';
import {budgetsOf} from './preemption/budgets.js';
import {isCandidate} from './preemption/candidates.js';
import {Preemptor} from './preemption/preemptor.js';
import {findVictims} from './preemption/search.js';
import {Nominated} from './queue/nominated.js';
import type {QueuedPod} from './queue/queued-pod.js';
import {SchedulingQueue, type ClusterEvent} from './queue/queue.js';
import {scores} from './scores/index.js';

export interface SchedulerParts {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
}

/** Gives waiting pods to nodes: one after the other is decided, and each is bound while the next ones are. */
export class Scheduler {
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly cluster: Cluster;
  readonly nominated = new Nominated();
  readonly #parts: SchedulerParts;
  readonly #writes = new PodWrites();
  readonly #hints = hintsByEvent(filters);
  readonly #binding = new Set<Promise<void>>();
  readonly #preemptor: Preemptor;
  #from = 0;
  #wake: () => void = () => {};
  /** Keeps a virtual clock from moving while a pod is due. */
  #hold: Disposable | undefined;

  constructor(parts: SchedulerParts) {
    const {naming, clock, lister, gate} = parts;
    this.#parts = parts;
    const cache = (this.cache = new Cache(naming));
    this.cluster = {
      naming,
      get nodes() {
        return cache.nodes;
      },
      node: name => cache.node(name),
      nodesWithImage: name => cache.nodesWithImage(name),
      counts: new PodCounts(),
      labelsOf: namespace => lister(kinds.namespaces).get(namespace)?.metadata?.labels,
      lister,
      gate,
    };
    this.#preemptor = new Preemptor({...parts, promised: node => this.nominated.on(node), activate: uid => this.queue.activate(uid)});
    this.queue = new SchedulingQueue({
      clock,
      initialMs: 1_000,
      maxMs: 10_000,
      patienceMs: 300_000,
      popsFromBackoff: gate('SchedulerPopFromBackoffQ'),
      gateOf: pod => this.#gateOf(pod),
      hintsOn: event => (this.#hints.get(event) ?? []).map(({plugin, helps}) => ({plugin, helps: (pod, {old, now}: ClusterEvent) => helps?.(pod, old, now, this.cluster) ?? true})),
      ready: () => {
        this.#hold ??= clock.hold();
        this.#wake();
      },
      came: () => {},
    });
  }

  /** Who keeps a pod from being tried at all. */
  #gateOf({pod, uid}: PodInfo): PluginName | undefined {
    if (pod.spec?.schedulingGates?.length) return 'SchedulingGates';
    return this.#preemptor.isActingFor(uid) ? 'DefaultPreemption' : undefined;
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
  }

  #schedule(queued: QueuedPod): void {
    const {log} = this.#parts;
    const {info} = queued;
    if (info.pod.metadata?.deletionTimestamp) {
      this.#parts.events.warning(info.pod, 'FailedScheduling', `skip schedule deleting pod: ${info.key}`);
      this.queue.delete(info.uid);
      return;
    }
    if (this.cache.isAssumed(info.uid)) return;
    try {
      const node = this.#decide(queued);
      if (node) this.#place(queued, node);
    } catch (error) {
      log.error({pod: info.key, err: error}, 'a pod could not be scheduled for a fault');
      this.#fail(queued, {reason: 'SchedulerError', message: error instanceof Error ? error.message : String(error), nominatedNode: ''}, new Set());
    }
  }

  /** The best node for a pod; where there is none the pod goes back to the queue. */
  #decide(queued: QueuedPod): NodeInfo | undefined {
    const {cluster, nominated} = this;
    const {info} = queued;
    const all = cluster.nodes.length;
    if (all === 0) {
      // Differs from upstream: the pod waits for a node, where upstream tries again after each backoff.
      this.#fail(queued, {reason: 'Unschedulable', message: noNodesText, nominatedNode: ''}, new Set<PluginName>(['NoNodes']));
      return undefined;
    }
    const own = info.pod.status?.nominatedNodeName || nominated.nodeOf(info.uid);
    const found = findFitting(info, {cluster, filters, promised: node => nominated.on(node), own, percentage: 0, from: this.#from});
    const {fitting, looked} = found;
    this.#from = (this.#from + looked) % all;
    if (fitting.length === 0) {
      this.#makeRoom(queued, found, own);
      return undefined;
    }
    if (fitting.length === 1) return fitting[0];
    return choose(fitting, totalScores(info, fitting, scores, cluster), this.#parts.random);
  }

  /** Puts back a pod that fits nowhere, and makes others leave for it if that would help. */
  #makeRoom(queued: QueuedPod, found: Found, own: string | undefined): void {
    const {info} = queued;
    const {diagnosis} = found;
    const {lister, random} = this.#parts;
    const outcome = findVictims(info, own, found, {
      cluster: this.cluster,
      random,
      promised: node => this.nominated.on(node),
      budgets: () => budgetsOf(lister(kinds.podDisruptionBudgets).list()),
    });
    const all = this.cluster.nodes.length;
    const fail = (nominatedNode: string | undefined, afterwards?: string) =>
      this.#fail(queued, {reason: 'Unschedulable', message: fitText(all, diagnosis, afterwards), nominatedNode}, diagnosis.rejectedBy);
    if (!isCandidate(outcome)) return fail(outcome.forget ? '' : undefined, `${noClaimsText}, preemption: ${outcome.text}`);
    this.#preemptor.act(info, outcome);
    fail(outcome.node);
  }

  #place(queued: QueuedPod, {name}: NodeInfo): void {
    const {info} = queued;
    this.cache.assume(info, name);
    this.nominated.delete(info.uid);
    const binding = this.#bind(queued, name).finally(() => this.#binding.delete(binding));
    this.#binding.add(binding);
  }

  async #bind(queued: QueuedPod, node: string): Promise<void> {
    const {client, clock, events, log, signal} = this.#parts;
    const {info} = queued;
    const {name = '', namespace = '', uid} = info.pod.metadata ?? {};
    const hold = clock.hold();
    try {
      const target = {kind: 'Node', name: node};
      await this.#writes.conclude(info.uid, () =>
        client.resource(kinds.pods).create({metadata: {name, namespace, uid}, target} as never, {name, subresource: 'binding', signal}),
      );
      queued.attempts = 0;
      if (this.queue.get(info.uid) === queued) this.queue.delete(info.uid);
      events.normal(info.pod, 'Scheduled', `Successfully assigned ${info.key} to ${node}`);
    } catch (error) {
      if (signal.aborted) return;
      log.v(isNotFound(error) ? 1 : 0).error({pod: info.key, node, err: error}, 'a pod could not be bound');
      this.#forget(info);
      this.#fail(queued, {reason: 'SchedulerError', message: `running Bind plugin "DefaultBinder": ${error instanceof Error ? error.message : String(error)}`, nominatedNode: ''}, new Set());
    } finally {
      hold[Symbol.dispose]();
    }
  }

  /** Gives up a node that a pod was taken to be on, which may help others. */
  #forget(info: PodInfo): void {
    const placed = this.cache.pod(info.uid);
    if (!placed?.assumed) return;
    this.cache.removePod(info.uid);
    const old = {...info.pod, spec: {...info.pod.spec!, nodeName: placed.node}};
    this.queue.moveOn({kind: 'AssignedPodDelete', old});
  }

  /** Puts a pod back and tells why. */
  #fail(queued: QueuedPod, report: Report, rejectedBy: ReadonlySet<PluginName>): void {
    const {lister, events} = this.#parts;
    const {uid, key} = queued.info;
    const known = lister(kinds.pods).get(key);
    if (known?.metadata?.uid !== uid || known.spec?.nodeName) {
      this.queue.delete(uid);
      return;
    }
    queued.info = this.podInfo(known);
    this.queue.putBack(queued, rejectedBy);
    if (report.nominatedNode !== undefined) this.nominated.set(queued.info, report.nominatedNode);
    events.warning(known, 'FailedScheduling', asNote(report.message));
    this.#writes.report(uid, () => this.#tell(key, uid, report));
  }

  async #tell(key: string, uid: string, report: Report): Promise<void> {
    const {client, clock, lister, log, signal} = this.#parts;
    const pod = lister(kinds.pods).get(key);
    const patch = pod?.metadata?.uid === uid && !pod.spec?.nodeName ? statusPatch(pod, report, clock.now()) : undefined;
    if (!patch) return;
    const {name = '', namespace = ''} = pod?.metadata ?? {};
    const hold = clock.hold();
    try {
      await client.resource(kinds.pods).patch(name, 'strategic', patch, {namespace, subresource: 'status', signal});
    } catch (error) {
      if (!signal.aborted && !isNotFound(error)) log.error({pod: key, err: error}, 'the condition of a pod could not be told');
    } finally {
      hold[Symbol.dispose]();
    }
  }

  /** Tells the queue what happened. */
  happened(kind: EventKind, old?: Frozen<KubeObject>, now?: Frozen<KubeObject>): void {
    this.queue.moveOn({kind, old, now});
  }
}
