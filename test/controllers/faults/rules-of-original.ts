/**
 * Permissions in the roles of controllers that their scenarios do not use, by service account. The roles are those of the original, whose controllers
 * use them in other cases, or update what is patched here.
 */
export const rulesOfOriginal: Readonly<Record<string, readonly string[]>> = {
  'clusterrole-aggregation-controller': ['update clusterroles.rbac.authorization.plat.io'],
  'cronjob-controller': ['delete pods', 'list pods', 'patch jobs.batch', 'update cronjobs.batch', 'update jobs.batch', 'watch pods'],
  'daemon-set-controller': [
    'create pods/binding',
    'delete controllerrevisions.apps',
    'patch controllerrevisions.apps',
    'patch pods',
    'update controllerrevisions.apps',
  ],
  'deployment-controller': ['delete replicasets.apps', 'patch replicasets.apps', 'update deployments.apps', 'update pods'],
  'disruption-controller': ['get */scale.*', 'patch pods/status'],
  'endpointslice-controller': ['delete endpointslices.discovery.plat.io', 'update endpointslices.discovery.plat.io'],
  'generic-garbage-collector': ['update *.*'],
  'horizontal-pod-autoscaler': [
    'get *.custom.metrics.plat.io',
    'get *.external.metrics.plat.io',
    'list *.custom.metrics.plat.io',
    'list *.external.metrics.plat.io',
    'watch *.custom.metrics.plat.io',
    'watch *.external.metrics.plat.io',
    'watch pods.metrics.plat.io',
  ],
  'job-controller': ['delete pods', 'patch jobs.batch', 'update jobs.batch'],
  'namespace-controller': ['delete *.*', 'delete namespaces'],
  'node-controller': ['patch nodes/status', 'update nodes'],
  'replicaset-controller': ['patch pods', 'update replicasets.apps'],
  'replication-controller': ['patch pods', 'update replicationcontrollers'],
  'service-controller': ['update services/status'],
  'service-cidrs-controller': ['update servicecidrs.networking.plat.io', 'update servicecidrs/status.networking.plat.io'],
  'statefulset-controller': [
    'delete controllerrevisions.apps',
    'delete persistentvolumeclaims',
    'patch controllerrevisions.apps',
    'patch pods',
    'update controllerrevisions.apps',
    'update persistentvolumeclaims',
    'update pods',
  ],
  'storage-version-garbage-collector': [
    'get storageversions/status.internal.apiserver.plat.io',
    'patch storageversions.internal.apiserver.plat.io',
    'patch storageversions/status.internal.apiserver.plat.io',
    'update storageversions.internal.apiserver.plat.io',
  ],
  'storage-version-migrator-controller': ['create *.*'],
  'ttl-controller': ['update nodes'],
  'validatingadmissionpolicy-status-controller': [
    'get validatingadmissionpolicies/status.admissionregistration.plat.io',
    'update validatingadmissionpolicies/status.admissionregistration.plat.io',
  ],
};
