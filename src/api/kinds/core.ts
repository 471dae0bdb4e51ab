import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const coreKinds = {
  bindings: kind<Wire<upstream.V1Binding>>('', 'v1', 'Binding', 'bindings', true),
  componentStatuses: kind<Wire<upstream.V1ComponentStatus>>('', 'v1', 'ComponentStatus', 'componentstatuses', false),
  configMaps: kind<types.ConfigMap>('', 'v1', 'ConfigMap', 'configmaps', true),
  endpoints: kind<Wire<upstream.V1Endpoints>>('', 'v1', 'Endpoints', 'endpoints', true),
  coreEvents: kind<types.CoreEvent>('', 'v1', 'Event', 'events', true),
  limitRanges: kind<Wire<upstream.V1LimitRange>>('', 'v1', 'LimitRange', 'limitranges', true),
  namespaces: kind<types.Namespace>('', 'v1', 'Namespace', 'namespaces', false),
  nodes: kind<types.Node>('', 'v1', 'Node', 'nodes', false),
  persistentVolumeClaims: kind<Wire<upstream.V1PersistentVolumeClaim>>('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', true),
  persistentVolumes: kind<Wire<upstream.V1PersistentVolume>>('', 'v1', 'PersistentVolume', 'persistentvolumes', false),
  pods: kind<Wire<upstream.V1Pod>>('', 'v1', 'Pod', 'pods', true),
  podTemplates: kind<Wire<upstream.V1PodTemplate>>('', 'v1', 'PodTemplate', 'podtemplates', true),
  replicationControllers: kind<Wire<upstream.V1ReplicationController>>('', 'v1', 'ReplicationController', 'replicationcontrollers', true),
  resourceQuotas: kind<Wire<upstream.V1ResourceQuota>>('', 'v1', 'ResourceQuota', 'resourcequotas', true),
  secrets: kind<types.Secret>('', 'v1', 'Secret', 'secrets', true),
  serviceAccounts: kind<types.ServiceAccount>('', 'v1', 'ServiceAccount', 'serviceaccounts', true),
  services: kind<Wire<upstream.V1Service>>('', 'v1', 'Service', 'services', true),
} as const;
