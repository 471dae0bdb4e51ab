import {unlessMissing} from '#controllers/shared/missing.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Log} from '#src/base/log.js';
import {Pieces} from '#src/base/turn.js';
import {isTerminal} from '#src/model/pod/state.js';
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

/** Runs one pass over all pods. Failed deletions are retried by the next pass. */
export const collector = ({lister, writer, client, clock, meter, naming, options}: KeyedContext<Options>): Reconcile => {
  const pods = lister(kinds.pods);
  const nodes = lister(kinds.nodes);
  const outOfService = naming.subKey('node', 'out-of-service');
  const pieces = new Pieces(clock);
  const labels = ['namespace', 'reason'];
  const deletions = meter.counter({
    name: 'pod_gc_collector_force_delete_pods_total',
    help: 'Number of pods that are being forcefully deleted since the Pod GC Controller started.',
    labels,
  });
  const failures = meter.counter({
    name: 'pod_gc_collector_force_delete_pod_errors_total',
    help: 'Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.',
    labels,
  });
  /** When to look up each node that pods name and the cache does not hold. */
  const quarantine = new Map<string, number>();

  /** Sets the phase Failed before the deletion: no kubelet may be left to report it. */
  const markFailed = async (pod: CachedPod, condition: Batch['condition']): Promise<void> => {
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
  };

  const remove = async (pod: CachedPod, {reason, condition}: Batch, log: Log): Promise<void> => {
    const {namespace = '', name} = pod.metadata ?? {};
    deletions.add({namespace, reason});
    try {
      if (!isTerminal(pod)) await markFailed(pod, condition);
      await writer(kinds.pods).delete(pod, {gracePeriodSeconds: 0});
      log.v(1).info({namespace, pod: name, reason}, 'deleted a pod at once');
    } catch (error) {
      if (isNotFound(error)) return;
      failures.add({namespace, reason});
      log.error({namespace, pod: name, reason, err: error}, 'a pod could not be deleted');
    }
  };

  const collect = async (batch: Batch, log: Log): Promise<void> => {
    const removals: Promise<void>[] = [];
    for (const pod of batch.pods) {
      const pause = pieces.pause();
      if (pause) await pause;
      removals.push(remove(pod, batch, log));
    }
    await Promise.all(removals);
  };

  /** Returns the pods that a predicate holds for, after looking at them in pieces. */
  const those = async (all: readonly CachedPod[], holds: (pod: CachedPod) => boolean): Promise<readonly CachedPod[]> => {
    const found: CachedPod[] = [];
    for (const pod of all) {
      const pause = pieces.pause();
      if (pause) await pause;
      if (holds(pod)) found.push(pod);
    }
    return found;
  };

  /** Returns the nodes that pods name and that, after the quarantine, do not exist on the server. */
  const lostNodes = async (all: readonly CachedPod[], log: Log): Promise<ReadonlySet<string>> => {
    const now = clock.now();
    const unknown = new Set<string>();
    for (const {spec} of await those(all, ({spec}) => spec?.nodeName !== undefined && !nodes.get(spec.nodeName)))
      unknown.add(spec!.nodeName!);
    unknown.delete('');
    for (const name of unknown) if (!quarantine.has(name)) quarantine.set(name, now + quarantineMs);
    const lost = new Set<string>();
    for (const [name, due] of quarantine) {
      if (due > now) continue;
      quarantine.delete(name);
      if (!unknown.has(name)) continue;
      try {
        if (!(await unlessMissing(client.resource(kinds.nodes).get(name)))) lost.add(name);
      } catch (error) {
        log.error({node: name, err: error}, 'a node could not be asked for');
      }
    }
    return lost;
  };

  return async (_, {log}) => {
    const all = pods.list();
    const deleting = await those(all, ({metadata}) => Boolean(metadata?.deletionTimestamp));
    const stuck = await those(deleting, ({spec}) => {
      const node = spec?.nodeName ? nodes.get(spec.nodeName) : undefined;
      return node !== undefined && isOutOfService(node, outOfService);
    });
    await collect({reason: 'terminated', pods: terminatedBeyond(await those(all, isTerminated), options.terminatedPodGcThreshold)}, log);
    await collect({reason: 'out-of-service', pods: stuck}, log);
    const lost = await lostNodes(all, log);
    const orphaned = lost.size === 0 ? [] : await those(all, ({spec}) => lost.has(spec?.nodeName ?? ''));
    await collect(
      {reason: 'orphaned', pods: orphaned, condition: {reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists'}},
      log,
    );
    await collect({reason: 'unscheduled', pods: await those(deleting, ({spec}) => !spec?.nodeName)}, log);
    return settled;
  };
};
