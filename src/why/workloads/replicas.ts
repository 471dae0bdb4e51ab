// Replica sets and replication controllers, which count pods alike.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {isTerminating} from '#src/model/pod/state.js';
import {conditionOf} from '#src/why/facts/conditions.js';
import {counted} from '#src/base/text/counted.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {heldUp, podReference, podsOf, podText, tooYoung} from './pods-of.js';
import {refusalFinding} from './refusals.js';
import {unseen} from './unseen.js';

type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;
type ReplicationController = ObjectOf<typeof kinds.replicationControllers>;
type Counted = ReplicaSet | ReplicationController;

const selectorOf = ({spec}: Counted): LabelSelectorObject | undefined =>
  spec && ('matchLabels' in (spec.selector ?? {}) || 'matchExpressions' in (spec.selector ?? {}))
    ? (spec.selector as LabelSelectorObject)
    : {matchLabels: (spec?.selector ?? {}) as Record<string, string>};

const refused: Rule<Counted> = (set, cluster) => {
  const failure = conditionOf(set, 'ReplicaFailure');
  if (failure?.status !== 'True' || failure.reason !== 'FailedCreate') return undefined;
  const {message = '', lastTransitionTime: since} = failure;
  return refusalFinding({message, since, namespace: set.metadata?.namespace ?? ''}, cluster);
};

const replicas: Rule<Counted> = async (set, cluster) => {
  const {replicas: asked = 1, minReadySeconds = 0} = set.spec ?? {};
  const {replicas: there = 0, availableReplicas = 0} = set.status ?? {};
  if (there === asked && availableReplicas >= asked) return undefined;
  const pods = await podsOf(set, selectorOf(set), cluster);
  const pod = heldUp(pods);
  const young = tooYoung(pods, minReadySeconds, cluster.now);
  const ending = there > asked ? pods.find(isTerminating) : undefined;
  return {
    rule: 'replicas',
    sentence:
      !pod && young
        ? `its ${podText(young)} is ready and counts as available after ${minReadySeconds} s`
        : there > asked
          ? `it has ${counted(there, 'pod')}, and should have ${asked}`
          : `${availableReplicas} of ${asked} replicas are available`,
    since: young && !pod ? conditionOf(young, 'Ready')?.lastTransitionTime : (pod ?? (set as KubeObject)).metadata?.creationTimestamp,
    ends: `${counted(asked, 'pod')} that ${asked === 1 ? 'is' : 'are'} ready.`,
    next: podReference(pod ?? ending),
  };
};

const rest = ({spec}: Counted): string => `all its replicas (${spec?.replicas ?? 1}) are available`;

export const replicaSetSubject = subject<ReplicaSet>({rules: [unseen('replicaset-controller'), refused, replicas], rest});

export const replicationControllerSubject = subject<ReplicationController>({
  rules: [unseen('replicationcontroller-controller'), refused, replicas],
  rest,
});
