import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';

export type Deployment = Frozen<ObjectOf<typeof kinds.deployments>>;
export type ReplicaSet = Frozen<ObjectOf<typeof kinds.replicaSets>>;
export type DeploymentStatus = NonNullable<Deployment['status']>;

const withoutLimit = 2 ** 31 - 1;

/** Returns the number of requested pods. */
export const replicasOf = ({spec}: Deployment | ReplicaSet): number => spec?.replicas ?? 1;

export const isRolling = ({spec}: Deployment): boolean => spec?.strategy?.type === 'RollingUpdate';

/** Returns the progress deadline in seconds; undefined for no deadline, which the largest number means as well. */
export const progressDeadlineOf = ({spec}: Deployment): number | undefined =>
  spec?.progressDeadlineSeconds === withoutLimit ? undefined : spec?.progressDeadlineSeconds;

/** Returns how many old replica sets are kept; undefined for all. */
export const historyLimitOf = ({spec}: Deployment): number | undefined =>
  spec?.revisionHistoryLimit === withoutLimit ? undefined : spec?.revisionHistoryLimit;
