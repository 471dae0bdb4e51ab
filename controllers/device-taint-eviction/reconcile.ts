import {indexing} from '#informers/lister.js';
import {disruptPod} from '#controllers/shared/pods/disrupt.js';
import {unlessMissing} from '#src/client/missing.js';
import {isResync} from '#informers/change.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {Evictions, type EvictionsParts} from './evictions.js';
import {statusPeriodMs, writeRuleStatus} from './rule-status.js';
import {byDevice, DeviceTaints} from './taints.js';

/** Pods and rules share the queue: the namespace of a key begins with what it is about. */
const [ofPod, ofRule] = ['pod:', 'rule:'];

const evictionMetrics = ({meter}: KeyedContext) => ({
  total: meter.counter({
    name: 'device_taint_eviction_controller_pod_deletions_total',
    help: 'Total number of Pods deleted by DeviceTaintEvictionController since its start.',
  }),
  duration: meter.histogram({
    name: 'device_taint_eviction_controller_pod_deletion_duration_seconds',
    help: "Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via DeviceTaintEvictionController.",
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  }),
});

/**
 * Follows pods, claims, slices and rules, and finds out again when pods are to be evicted where anything has changed.
 */
const follow = ({lister, listen, gates, clock}: KeyedContext, handlers: Omit<EvictionsParts, 'claims' | 'taints'>) => {
  const [pods, claims, slices] = [lister(kinds.pods), indexing(lister(kinds.resourceClaims), byDevice), lister(kinds.resourceSlices)];
  const rules = gates.enabled('DRADeviceTaintRules') ? lister(kinds.deviceTaintRules) : undefined;
  const taints = new DeviceTaints({slices, rules, now: () => clock.now()});
  const evictions = new Evictions({...handlers, claims, taints});

  const checkPods = (...of: readonly (Frozen<DeviceClaim> | undefined)[]) => {
    const found = new Map<string, Frozen<Pod>>();
    for (const claim of of) {
      for (const {apiGroup, resource, name, uid} of claim?.status?.reservedFor ?? []) {
        const pod = apiGroup || resource !== 'pods' ? undefined : pods.get({namespace: claim?.metadata?.namespace ?? '', name});
        if (pod?.metadata?.uid === uid) found.set(uid, pod!);
      }
    }
    for (const pod of found.values()) evictions.check(pod);
  };
  listen(kinds.resourceClaims, change => {
    if (!isResync(change)) checkPods(change.type === 'updated' ? change.old : undefined, change.object);
  });
  listen(kinds.pods, change => {
    const {type, object} = change;
    if (type === 'deleted') return evictions.forget(object);
    if (type === 'updated') {
      const {old} = change;
      const isSame =
        old.metadata?.uid === object.metadata?.uid &&
        old.spec?.nodeName === object.spec?.nodeName &&
        sameJson(old.status?.resourceClaimStatuses, object.status?.resourceClaimStatuses) &&
        sameJson(old.status?.extendedResourceClaimStatus, object.status?.extendedResourceClaimStatus);
      if (isSame) return;
    }
    evictions.check(object);
  });
  listen(kinds.resourceSlices, change => {
    if (isResync(change)) return;
    const {type, object} = change;
    const old = type === 'updated' ? change.old : type === 'deleted' ? object : undefined;
    const affected = new Set<Frozen<DeviceClaim>>();
    for (const id of taints.changedDevices(old, type === 'deleted' ? undefined : object))
      for (const claim of claims.by(byDevice, id)) affected.add(claim);
    checkPods(...affected);
  });
  return {claims, rules, taints, evictions, checkAll: () => checkPods(...claims.list())};
};

/** Evicts pods from tainted devices, and reports the progress of rules. */
export const deviceTaintReconciler = (context: KeyedContext): Reconcile => {
  const {clock, client, enqueue, events, listen, naming} = context;
  const metrics = evictionMetrics(context);
  const enqueueRule = (name: string, afterMs: number) => enqueue({namespace: ofRule, name}, {afterMs});
  const record = (key: ObjectKey, uid: string | undefined, message: string) => {
    const metadata = {...key, ...(uid ? {uid} : {})};
    events.normal({apiVersion: naming.apiVersion('', 'v1'), kind: kinds.pods.kind, metadata}, 'DeviceTaintManagerEviction', message);
  };
  const {claims, rules, taints, evictions, checkAll} = follow(context, {
    scheduled(pod, {at}) {
      const {namespace, name} = keyOf(pod);
      enqueue({namespace: `${ofPod}${namespace}`, name}, {afterMs: Math.max(0, at - clock.now())});
    },
    cancelled: pod => record(keyOf(pod), pod.metadata?.uid, 'Cancelling deletion'),
    rulesChanged(names) {
      for (const name of names) enqueueRule(name, statusPeriodMs);
    },
  });
  if (rules) {
    listen(kinds.deviceTaintRules, change => {
      const {type, object} = change;
      const name = object.metadata?.name ?? '';
      if (type === 'deleted') evictions.forgetRule(name);
      if (type === 'updated' && sameJson(change.old.spec, object.spec)) return;
      checkAll();
      if (type !== 'deleted') enqueueRule(name, 0);
    });
  }

  const evict = async (key: ObjectKey): Promise<Result> => {
    const eviction = evictions.get(keyText(key));
    if (!eviction) return settled;
    if (eviction.at > clock.now()) return requeueAfter(eviction.at - clock.now());
    const pod = await unlessMissing(client.resource(kinds.pods).get(key.name, {namespace: key.namespace}));
    if (!pod || pod.metadata?.uid !== eviction.uid || pod.metadata.deletionTimestamp) return settled;
    const marked = pod.status?.conditions?.some(({reason}) => reason === 'DeletionByDeviceTaintManager');
    // An attempt that failed has recorded the event.
    if (!marked) record(key, eviction.uid, 'Marking for deletion');
    const condition = {reason: 'DeletionByDeviceTaintManager', message: 'Device Taint manager: deleting due to NoExecute taint'};
    await unlessMissing(disruptPod(context, pod, condition));
    metrics.total.add();
    metrics.duration.observe((clock.now() - eviction.at) / 1000);
    evictions.evicted(eviction);
    return settled;
  };

  return async ({namespace, name}) => {
    if (namespace.startsWith(ofPod)) return evict({namespace: namespace.slice(ofPod.length), name});
    const rule = rules?.get({namespace: '', name});
    const afterMs = rule && (await writeRuleStatus(rule, evictions.progressOf(name), {...context, taints, claims}));
    return afterMs === undefined ? settled : requeueAfter(afterMs);
  };
};
