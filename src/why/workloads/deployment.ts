import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import {isControlledBy} from '#src/model/owners.js';
import {isTerminating} from '#src/model/pod/state.js';
import type {ObjectOf} from '#src/api/kinds/index.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {conditionOf} from '#src/why/facts/conditions.js';
import {subject, type Finding, type Rule} from '#src/why/facts/finding.js';
import {referenceTo, type Reference} from '#src/why/facts/reference.js';
import {podReference} from './pods-of.js';
import {unseen} from './unseen.js';

type Deployment = ObjectOf<typeof kinds.deployments>;
type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;

const revision = ({metadata}: KubeObject): number =>
  Number(Object.entries(metadata?.annotations ?? {}).find(([key]) => key.endsWith('/revision'))?.[1] ?? 0);

/** The replica sets of a deployment, the newest first. */
const replicaSetsOf = async (deployment: Deployment, cluster: Cluster): Promise<readonly ReplicaSet[]> => {
  const labelSelector = labelSelectorOf(deployment.spec?.selector).toString();
  const sets = await cluster.list(kinds.replicaSets, {namespace: deployment.metadata?.namespace ?? '', labelSelector});
  return sets.filter(set => isControlledBy(set, deployment)).sort((a, b) => revision(b) - revision(a));
};

const paused: Rule<Deployment> = deployment => {
  const {replicas = 1, paused: isPaused} = deployment.spec ?? {};
  const {updatedReplicas = 0} = deployment.status ?? {};
  if (!isPaused || updatedReplicas >= replicas) return undefined;
  return {
    rule: 'paused',
    sentence: `it is paused, with ${updatedReplicas} of ${replicas} replicas of its newest template`,
    since: conditionOf(deployment, 'Progressing')?.lastTransitionTime,
    ends: `kubectl rollout resume deployment ${deployment.metadata?.name} -n ${deployment.metadata?.namespace}`,
  };
};

/** Old replicas that go only once new ones are there, or that do not end. */
const oldReplicas = async (deployment: Deployment, old: readonly ReplicaSet[], cluster: Cluster): Promise<Reference | undefined> => {
  const pods = await cluster.list(kinds.pods, {
    namespace: deployment.metadata?.namespace ?? '',
    labelSelector: labelSelectorOf(deployment.spec?.selector).toString(),
  });
  const ending = pods.find(pod => isTerminating(pod) && old.some(set => isControlledBy(pod, set)));
  const left = old.find(({status}) => (status?.replicas ?? 0) > 0);
  return podReference(ending) ?? (left && referenceTo(kinds.replicaSets, left));
};

const rollout: Rule<Deployment> = async (deployment, cluster): Promise<Finding | undefined> => {
  const {replicas = 1, progressDeadlineSeconds} = deployment.spec ?? {};
  const {updatedReplicas = 0, availableReplicas = 0, replicas: all = 0} = deployment.status ?? {};
  if (updatedReplicas >= replicas && availableReplicas >= replicas && all <= updatedReplicas) return undefined;
  const [current, ...old] = await replicaSetsOf(deployment, cluster);
  const progressing = conditionOf(deployment, 'Progressing');
  const isLate = progressing?.reason === 'ProgressDeadlineExceeded';
  const newReady = current?.status?.availableReplicas ?? 0;
  const isComplete = newReady >= replicas;
  return {
    rule: isLate ? 'progress-deadline' : 'rollout',
    sentence: isComplete
      ? `${all - updatedReplicas} of its old replicas have not ended`
      : `${newReady} of ${replicas} replicas of its newest template are available${isLate ? `, without progress for more than ${progressDeadlineSeconds ?? 600} s` : ''}`,
    since: (isLate ? progressing : conditionOf(deployment, 'Available'))?.lastTransitionTime,
    ends: 'Replicas of the newest template that are available.',
    next: isComplete ? await oldReplicas(deployment, old, cluster) : current && referenceTo(kinds.replicaSets, current),
  };
};

export const deploymentSubject = subject<Deployment>({
  rules: [unseen('deployment-controller'), paused, rollout],
  rest: ({spec, status, metadata}) =>
    `all its replicas (${spec?.replicas ?? 1}) are updated and available, and its controller has seen generation ${metadata?.generation ?? status?.observedGeneration}`,
});
