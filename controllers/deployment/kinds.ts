import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds.js';

export type Deployment = Frozen<ObjectOf<typeof kinds.deployments>>;
export type ReplicaSet = Frozen<ObjectOf<typeof kinds.replicaSets>>;
export type DeploymentStatus = NonNullable<Deployment['status']>;

const withoutLimit = 2 ** 31 - 1;

/** How many pods the deployment asks for. */
export const replicasOf = ({spec}: Deployment | ReplicaSet): number => spec?.replicas ?? 1;

export const isRolling = ({spec}: Deployment): boolean => spec?.strategy?.type === 'RollingUpdate';

/** The deadline of a rollout in seconds; undefined where there is none, which the largest number means as well. */
export const progressDeadlineOf = ({spec}: Deployment): number | undefined => (spec?.progressDeadlineSeconds === withoutLimit ? undefined : spec?.progressDeadlineSeconds);

/** How many old replica sets are kept; undefined for all of them. */
export const historyLimitOf = ({spec}: Deployment): number | undefined => (spec?.revisionHistoryLimit === withoutLimit ? undefined : spec?.revisionHistoryLimit);
