import {unlessMissing} from '#src/client/missing.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Log} from '#src/base/log.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Counter} from '#src/base/meter.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {terminatedBeyond, isOutOfService, isTerminated} from './policy.js';

type CachedPod = Frozen<Pod>;

/** How long a node may be missing from the cache before it is looked up on the server. */
const quarantineMs = 40_000;

interface Options {
  readonly terminatedPodGcThreshold: number;
}

/** Pods to delete, with the reason as metrics label it. */
interface Batch {
  readonly reason: string;
  readonly pods: readonly CachedPod[];
  readonly condition?: Pick<PodCondition, 'reason' | 'message'>;
}

/** Returns the reconcile that runs one pass over all pods. */
export const collector = (context: KeyedContext<Options>): Reconcile => {
  const passes = new Passes(context);
  return async (_, {log}) => {
    await passes.run(log);
    return settled;
  };
};

/** Passes over all pods, which look at them in pieces. Failed deletions are retried by the next pass. */
class Passes {
  readonly #context: KeyedContext<Options>;
  readonly #pieces: Yielder;
  readonly #deletions: Counter;
  readonly #failures: Counter;
  /** When to look up each node that pods name and the cache does not hold. */
  readonly #quarantine = new Map<string, number>();

  constructor(context: KeyedContext<Options>) {
    this.#context = context;
    this.#pieces = new Yielder(context.clock);
    const labels = ['namespace', 'reason'];
    this.#deletions = context.meter.counter({
      name: 'pod_gc_collector_force_delete_pods_total',
      help: 'Number of pods that are being forcefully deleted since the Pod GC Controller started.',
      labels,
    });
    this.#failures = context.meter.counter({
      name: 'pod_gc_collector_force_delete_pod_errors_total',
      help: 'Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.',
      labels,
    });
  }

  async run(log: Log): Promise<void> {
    const {lister, naming, options} = this.#context;
    const all = lister(kinds.pods).list();
    const nodes = lister(kinds.nodes);
    const outOfService = naming.subKey('node', 'out-of-service');
    const deleting = await this.#those(all, ({metadata}) => Boolean(metadata?.deletionTimestamp));
    const stuck = await this.#those(deleting, ({spec}) => {
      const node = spec?.nodeName ? nodes.get(spec.nodeName) : undefined;
      return node !== undefined && isOutOfService(node, outOfService);
    });
    const terminated = await this.#those(all, isTerminated);
    const surplus = await runStepsYielding(terminatedBeyond(terminated, options.terminatedPodGcThreshold), this.#pieces);
    await this.#collect({reason: 'terminated', pods: surplus}, log);
    await this.#collect({reason: 'out-of-service', pods: stuck}, log);
    const lost = await this.#lostNodes(all, log);
    const orphaned = lost.size === 0 ? [] : await this.#those(all, ({spec}) => lost.has(spec?.nodeName ?? ''));
    const condition = {reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists'};
    await this.#collect({reason: 'orphaned', pods: orphaned, condition}, log);
    await this.#collect({reason: 'unscheduled', pods: await this.#those(deleting, ({spec}) => !spec?.nodeName)}, log);
  }

  /** Returns the pods that a predicate holds for. */
  async #those(all: readonly CachedPod[], holds: (pod: CachedPod) => boolean): Promise<readonly CachedPod[]> {
    const found: CachedPod[] = [];
    for (const pod of all) {
      const pause = this.#pieces.pause();
      if (pause) await pause;
      if (holds(pod)) found.push(pod);
    }
    return found;
  }

  /** Returns the nodes that pods name and that, after the quarantine, do not exist on the server. */
  async #lostNodes(all: readonly CachedPod[], log: Log): Promise<ReadonlySet<string>> {
    const {clock, client, lister} = this.#context;
    const nodes = lister(kinds.nodes);
    const now = clock.now();
    const unknown = new Set<string>();
    for (const {spec} of await this.#those(all, ({spec}) => spec?.nodeName !== undefined && !nodes.get(spec.nodeName)))
      unknown.add(spec!.nodeName!);
    unknown.delete('');
    for (const name of unknown) if (!this.#quarantine.has(name)) this.#quarantine.set(name, now + quarantineMs);
    const lost = new Set<string>();
    for (const [name, due] of this.#quarantine) {
      if (due > now) continue;
      this.#quarantine.delete(name);
      if (!unknown.has(name)) continue;
      try {
        if (!(await unlessMissing(client.resource(kinds.nodes).get(name)))) lost.add(name);
      } catch (error) {
        log.error({node: name, err: error}, 'a node could not be asked for');
      }
    }
    return lost;
  }

  async #collect(batch: Batch, log: Log): Promise<void> {
    const removals: Promise<void>[] = [];
    for (const pod of batch.pods) {
      const pause = this.#pieces.pause();
      if (pause) await pause;
      removals.push(this.#remove(pod, batch, log));
    }
    await Promise.all(removals);
  }

  async #remove(pod: CachedPod, {reason, condition}: Batch, log: Log): Promise<void> {
    const {namespace = '', name} = pod.metadata ?? {};
    this.#deletions.add({namespace, reason});
    try {
      if (!isTerminal(pod)) await this.#markFailed(pod, condition);
      await this.#context.writer(kinds.pods).delete(pod, {gracePeriodSeconds: 0});
      log.v(1).info({namespace, pod: name, reason}, 'deleted a pod at once');
    } catch (error) {
      if (isNotFound(error)) return;
      this.#failures.add({namespace, reason});
      log.error({namespace, pod: name, reason, err: error}, 'a pod could not be deleted');
    }
  }

  /** Sets the phase Failed before the deletion: no kubelet may be left to report it. */
  async #markFailed(pod: CachedPod, condition: Batch['condition']): Promise<void> {
    const {writer, clock} = this.#context;
    const {uid, generation} = pod.metadata ?? {};
    const disrupted = condition && {
      type: 'DisruptionTarget',
      status: 'True',
      ...condition,
      lastTransitionTime: wireTime(clock.now()),
      ...(generation ? {observedGeneration: generation} : {}),
    };
    const status = {phase: 'Failed', ...(disrupted ? {conditions: [disrupted]} : {})};
    await writer(kinds.pods).patch(pod, 'strategic', {metadata: {uid}, status}, {subresource: 'status'});
  }
}
