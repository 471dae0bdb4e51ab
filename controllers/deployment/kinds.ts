import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';

export type Deployment = Frozen<ObjectOf<typeof kinds.deployments>>;
export type ReplicaSet = Frozen<ObjectOf<typeof kinds.replicaSets>>;
export type DeploymentStatus = NonNullable<Deployment['status']>;
