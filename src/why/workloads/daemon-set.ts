import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {heldUp, podReference, podsOf, tooYoung} from './pods-of.js';
import {failedCreation, refusalFinding} from './refusals.js';
import {unseen} from './unseen.js';

type DaemonSet = ObjectOf<typeof kinds.daemonSets>;

const refused: Rule<DaemonSet> = async (set, cluster) => {
  const {currentNumberScheduled = 0, desiredNumberScheduled = 0} = set.status ?? {};
  if (currentNumberScheduled >= desiredNumberScheduled) return undefined;
  const failure = failedCreation(await cluster.events(kinds.daemonSets, set));
  if (!failure) return undefined;
  return refusalFinding({message: failure.message, since: failure.first, namespace: set.metadata?.namespace ?? ''}, cluster);
};

const noNodes: Rule<DaemonSet> = async (set, cluster) => {
  if (!set.status || set.status.desiredNumberScheduled > 0) return undefined;
  const nodes = await cluster.list(kinds.nodes);
  return {
    rule: 'no-node-fits',
    sentence: `its node selector and its tolerations match none of the nodes (${nodes.length})`,
    since: set.metadata?.creationTimestamp,
    ends: 'A node with the labels that its template asks for, and without taints that it does not tolerate.',
  };
};

const pods: Rule<DaemonSet> = async (set, cluster) => {
  const {desiredNumberScheduled = 0, numberAvailable = 0, currentNumberScheduled = 0} = set.status ?? {};
  if (numberAvailable >= desiredNumberScheduled) return undefined;
  const own = await podsOf(set, set.spec?.selector, cluster);
  const pod = heldUp(own);
  const {minReadySeconds = 0} = set.spec ?? {};
  const young = tooYoung(own, minReadySeconds, cluster.now);
  const node =
    pod?.spec?.nodeName ??
    pod?.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0];
  return {
    rule: 'daemon-pods',
    sentence: pod
      ? `its pods are available on ${numberAvailable} of ${desiredNumberScheduled} nodes, and on ${node} it is not`
      : young
        ? `the pod ${young.metadata?.name} is ready and counts as available after ${minReadySeconds} s`
        : `${currentNumberScheduled} of ${desiredNumberScheduled} nodes have its pod`,
    since: pod?.metadata?.creationTimestamp,
    ends: pod
      ? `The pod ${pod.metadata?.name}, once it is ready.`
      : 'The daemonset-controller of the controller manager, as soon as it works.',
    next: podReference(pod),
  };
};

const updating: Rule<DaemonSet> = set => {
  const {desiredNumberScheduled = 0, updatedNumberScheduled = 0} = set.status ?? {};
  if (updatedNumberScheduled >= desiredNumberScheduled) return undefined;
  const isManual = set.spec?.updateStrategy?.type === 'OnDelete';
  return {
    rule: isManual ? 'update-on-delete' : 'rollout',
    sentence: `${updatedNumberScheduled} of ${desiredNumberScheduled} pods are of its newest template${isManual ? ', and with the strategy OnDelete the others stay until somebody deletes them' : ''}`,
    ends: isManual ? 'The deletion of its old pods.' : 'The daemonset-controller replaces one pod after the other.',
  };
};

export const daemonSetSubject = subject<DaemonSet>({
  rules: [unseen('daemonset-controller'), refused, noNodes, pods, updating],
  rest: ({status}) => `its pods are available on all nodes that match (${status?.desiredNumberScheduled})`,
});
