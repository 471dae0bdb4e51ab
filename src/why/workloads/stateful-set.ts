import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isActive, isReady} from '#src/model/pod/state.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {heldUp, podReference, podsOf, tooYoung} from './pods-of.js';
import {failedCreation, refusalFinding} from './refusals.js';
import {unseen} from './unseen.js';

type StatefulSet = ObjectOf<typeof kinds.statefulSets>;

const refused: Rule<StatefulSet> = async (set, cluster) => {
  if ((set.status?.replicas ?? 0) >= (set.spec?.replicas ?? 1)) return undefined;
  const failure = failedCreation(await cluster.events(kinds.statefulSets, set));
  if (!failure) return undefined;
  return refusalFinding({message: failure.message, since: failure.first, namespace: set.metadata?.namespace ?? ''}, cluster);
};

const ordinal = (name: string): number => Number(name.slice(name.lastIndexOf('-') + 1));

/** Pods are made, or replaced, one after the other: the lowest ordinal that is not ready holds up the others. */
const ordered: Rule<StatefulSet> = async (set, cluster) => {
  const {replicas = 1, podManagementPolicy = 'OrderedReady', minReadySeconds = 0, ordinals} = set.spec ?? {};
  const {availableReplicas = 0, replicas: there = 0} = set.status ?? {};
  if (availableReplicas >= replicas && there <= replicas) return undefined;
  const pods = await podsOf(set, set.spec?.selector, cluster);
  const isOrdered = podManagementPolicy === 'OrderedReady';
  const first = isOrdered ? pods.find(pod => !isReady(pod) || !isActive(pod)) : heldUp(pods);
  const young = tooYoung(pods, minReadySeconds, cluster.now);
  const last = (ordinals?.start ?? 0) + replicas - 1;
  const name = first?.metadata?.name ?? '';
  const waiting =
    isOrdered && first && ordinal(name) < last
      ? `, and ${ordinal(name) + 1 === last ? `the pod ${last}` : `the pods ${ordinal(name) + 1} to ${last}`} come${ordinal(name) + 1 === last ? 's' : ''} after it`
      : '';
  return {
    rule: isOrdered ? 'ordered-pods' : 'replicas',
    sentence: first
      ? `${availableReplicas} of ${replicas} replicas are available: the pod ${name} is ${first.metadata?.deletionTimestamp ? 'still being deleted' : 'not ready'}${waiting}`
      : young
        ? `the pod ${young.metadata?.name} is ready and counts as available after ${minReadySeconds} s`
        : `${availableReplicas} of ${replicas} replicas are available`,
    since: first?.metadata?.creationTimestamp ?? young?.metadata?.creationTimestamp,
    ends: first ? `The pod ${name}, once it is ready.` : 'The statefulset-controller of the controller manager, as soon as it works.',
    next: podReference(first),
  };
};

const updating: Rule<StatefulSet> = async (set, cluster) => {
  const {currentRevision, updateRevision, updatedReplicas = 0} = set.status ?? {};
  const {replicas = 1, updateStrategy} = set.spec ?? {};
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  if (!updateRevision || currentRevision === updateRevision || updatedReplicas >= replicas) return undefined;
  const old = (await podsOf(set, set.spec?.selector, cluster)).filter(
    ({metadata}) => metadata?.labels?.['controller-revision-hash'] !== updateRevision,
  );
  if (updateStrategy?.type === 'OnDelete')
    return {
      rule: 'update-on-delete',
      sentence: `${updatedReplicas} of ${replicas} pods are of its newest template, and with the strategy OnDelete the others stay until somebody deletes them`,
      ends: `The deletion of its old pods${old[0] ? `, such as ${old[0].metadata?.name}` : ''}.`,
    };
  if (partition > 0 && updatedReplicas >= replicas - partition)
    return {
      rule: 'partition',
      sentence: `${updatedReplicas} of ${replicas} pods are of its newest template, and its partition keeps those below ${partition} at the old one`,
      ends: 'A lower spec.updateStrategy.rollingUpdate.partition.',
    };
  return {
    rule: 'rollout',
    sentence: `${updatedReplicas} of ${replicas} pods are of its newest template`,
    ends: 'The statefulset-controller replaces one pod after the other, as soon as those before are ready.',
    next: podReference(old.findLast(({metadata}) => metadata?.deletionTimestamp)),
  };
};

export const statefulSetSubject = subject<StatefulSet>({
  rules: [unseen('statefulset-controller'), refused, ordered, updating],
  rest: ({spec, status}) => `all its replicas (${spec?.replicas ?? 1}) are available and of the revision ${status?.updateRevision}`,
});
