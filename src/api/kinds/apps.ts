import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const appsKinds = {
  controllerRevisions: kind<Wire<upstream.V1ControllerRevision>>('apps', 'v1', 'ControllerRevision', 'controllerrevisions', true),
  daemonSets: kind<Wire<upstream.V1DaemonSet>>('apps', 'v1', 'DaemonSet', 'daemonsets', true),
  deployments: kind<Wire<upstream.V1Deployment>>('apps', 'v1', 'Deployment', 'deployments', true),
  replicaSets: kind<Wire<upstream.V1ReplicaSet>>('apps', 'v1', 'ReplicaSet', 'replicasets', true),
  statefulSets: kind<Wire<upstream.V1StatefulSet>>('apps', 'v1', 'StatefulSet', 'statefulsets', true),
} as const;
