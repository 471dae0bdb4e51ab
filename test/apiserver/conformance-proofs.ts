const everyOperation = 'go through every operation, each seen by a watch';
const here = (title: string): readonly [file: string, title: string] => ['apiserver/conformance.test.ts', title];
const ofKinds = (title: string): readonly [file: string, title: string] => ['apiserver/conformance-kinds.test.ts', title];

/**
 * The tests of the official conformance suite for an API server and controllers, by their names, and the test here with
 * the same subject: a file and a title.
 */
export const proofs: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'Watchers: observe add, update, and delete watch notifications on configmaps': here(
    'each of several watches gets the events of its selection, and no others',
  ),
  'Watchers: be able to start watching from a specific resource version': here(
    'a watch begins after its resource version, resumes from the last one seen, and reports objects that leave its selection',
  ),
  'Watchers: be able to restart watching from the last resource version observed by the previous watch': here(
    'a watch begins after its resource version, resumes from the last one seen, and reports objects that leave its selection',
  ),
  'Watchers: observe an object deletion if it stops meeting the requirements of the selector': here(
    'a watch begins after its resource version, resumes from the last one seen, and reports objects that leave its selection',
  ),
  'Watchers: receive events on concurrent watches in same order': here('all watches agree on one order'),
  'Servers with support for API chunking: return chunks of results for list calls': here(
    'long lists come in chunks of one state, and go on from the last key when that state is forgotten',
  ),
  'Servers with support for API chunking: support continue listing from the last key if the original version has been compacted away': here(
    'long lists come in chunks of one state, and go on from the last key when that state is forgotten',
  ),
  'Servers with support for Table transformation: return a 406 for a backend which does not implement metadata': here(
    'a table of a resource without a table is refused',
  ),
  'Discovery: validate PreferredVersion for each APIGroup': here(
    'each group names a preferred version among those it lists, and each version names itself',
  ),
  'Discovery: locate the groupVersion and a resource within each APIGroup': here(
    'each group names a preferred version among those it lists, and each version names itself',
  ),
  'AggregatedDiscovery: support raw aggregated discovery request Accept headers': here(
    'discovery is aggregated for clients that accept it, and lists for others',
  ),
  'AggregatedDiscovery: support aggregated discovery interface': [
    'reference/served.test.ts',
    'the aggregated document describes groups, versions and resources as the original does',
  ],
  'server version: find the server version': here('the version of the server is plain numbers, with or without a slash at the end'),
  'Namespaces: ensure that all services are removed when a namespace is deleted': here(
    'a namespace is patched, updated, given conditions and finalizers, and takes its services along',
  ),
  'Namespaces: patch, update, status and finalizer': here(
    'a namespace is patched, updated, given conditions and finalizers, and takes its services along',
  ),
  'FieldValidation: detect unknown and duplicate fields, and unknown metadata fields, of a typed object': ofKinds(
    'strict field validation reports every unknown and duplicate field for all kinds of writes',
  ),
  'API priority and fairness: support FlowSchema and PriorityLevelConfiguration API operations': here(everyOperation),
  'Certificates API: support CSR API operations': ofKinds(
    'a request is approved and signed through its own parts, and no condition is lost between them',
  ),
  'ServiceAccounts: guarantee kube-root-ca.crt exist in any namespace': ofKinds(
    'the bundle of the cluster is in each namespace, and comes back when it is deleted or changed',
  ),
  'ServiceAccounts: run through the lifecycle of a ServiceAccount, update a ServiceAccount': ofKinds(
    'a service account is created, found, watched, updated with automount, and deleted by label',
  ),
  'ServiceAccounts: allow opting out of API token automount': ofKinds('automount of a token in a pod overrides that of its account'),
  'SubjectReview: support SubjectReview API operations': ofKinds('an access review returns the permissions of its subject'),
  'Events: manage the lifecycle of an event, delete a collection of events': ofKinds(
    'events of either group are one: a series is patched and put, a source selects, a label deletes',
  ),
  'Events API: ensure that an event can be fetched, patched, deleted, and listed': ofKinds(
    'events of either group are one: a series is patched and put, a source selects, a label deletes',
  ),
  'Lease: lease API should be available': ofKinds('a lease is held, renewed with every digit of its time, and taken over'),
  'RuntimeClass: reject a Pod requesting a non-existent or deleted one, initialize its Overhead': ofKinds(
    'a pod of a missing runtime class is refused, and gets the overhead of its class',
  ),
  'ConfigMap, Secrets: be immutable if the field is set, fail to create with an empty key': ofKinds(
    'bags of data have keys, and stay as they are once they are immutable',
  ),
  'ConfigMap, Secrets, PodTemplates, RuntimeClass: lifecycle': here(everyOperation),
  'Services: complete a service status lifecycle, delete a collection of services, find a service from listing all namespaces':
    here(everyOperation),
  'Services: test the lifecycle of an Endpoint': here(everyOperation),
  'Services: provide secure master service': [
    'plane/services.test.ts',
    'a plane has a service that leads to its servers, whose endpoint goes when it stops',
  ],
  'EndpointSlice: have Endpoints and EndpointSlices pointing to API Server': [
    'plane/services.test.ts',
    'a plane has a service that leads to its servers, whose endpoint goes when it stops',
  ],
  'EndpointSlice, Ingress API, IngressClass API, ServiceCIDR and IPAddress API: operations': here(everyOperation),
  'LimitRange: create a LimitRange with defaults and ensure pod has those defaults applied': ofKinds(
    'a limit range gives pods default requests, and refuses pods beyond it',
  ),
  'LimitRange: list, patch and delete a LimitRange by collection': here(everyOperation),
  'PriorityClass endpoints: operated with different HTTP methods': here(everyOperation),
  'CSIDriver, CSINodes, CSIStorageCapacity, StorageClasses, VolumeAttachment, VolumeAttributesClass: lifecycle': here(everyOperation),
  'PersistentVolumes CSI Conformance: lifecycle of a PV and a PVC, changes to their status': here(everyOperation),
  'Pods: delete a collection of pods, patch a pod status': ofKinds('pods are patched in their status, and deleted as a collection'),
  'Garbage collector: delete pods created by rc when not orphaning': [
    'controllers/garbage-collector.test.ts',
    'dependents go after an owner that was deleted, and theirs after them',
  ],
  'Garbage collector: keep the rc around until all its pods are deleted if the deleteOptions says so': [
    'controllers/garbage-collector.test.ts',
    'an owner that is deleted in the foreground is removed after the dependents that block its deletion',
  ],
  'Garbage collector: orphan pods created by rc, orphan RS created by deployment': [
    'controllers/garbage-collector.test.ts',
    'an owner that is deleted without its dependents is parted from them first',
  ],
  'Garbage collector: not delete dependents that have both valid owner and owner that is waiting for dependents to be deleted': [
    'controllers/garbage-collector.test.ts',
    'an owner that waits for a dependent with another owner does not wait in vain',
  ],
  'Garbage collector: not be blocked by dependency circle': [
    'controllers/garbage-collector.test.ts',
    'owners that own each other do not wait for each other',
  ],
  'Garbage collector: delete RS created by deployment when not orphaning': [
    'controllers/garbage-collector-order.test.ts',
    'a deployment takes its pods along, before it or after it, or leaves them to the next of its kind',
  ],
  'Namespaces: ensure that all pods are removed when a namespace is deleted': [
    'controllers/namespace.test.ts',
    'pods go first, and all else waits for them',
  ],
  'ResourceQuota: ensure its status is promptly calculated': [
    'controllers/resourcequota.test.ts',
    'a new quota soon has its usage, also of earlier objects',
  ],
  'ResourceQuota: capture the life of a pod': [
    'controllers/resourcequota.test.ts',
    'pods are charged as they are made, refused beyond the quota, and given back when they end or go',
  ],
  'ResourceQuota: capture the life of a service': [
    'controllers/resourcequota.test.ts',
    'services count by their type, which an update may change',
  ],
  'ResourceQuota: capture the life of a configMap, secret, replication controller, replica set': [
    'controllers/resourcequota.test.ts',
    'concurrent requests do not use the same part of a quota',
  ],
  'ResourceQuota: verify ResourceQuota with terminating scopes, with best effort scope': [
    'controllers/resourcequota.test.ts',
    'a quota with scopes counts the pods within them alone',
  ],
  'ResourceQuota: apply changes to a resourcequota status': [
    'controllers/resourcequota.test.ts',
    'changed limits are written at once, and a status written by hand is corrected',
  ],
  'Deployment: RollingUpdateDeployment should delete old pods and create new ones': [
    'controllers/deployment.test.ts',
    'a rolling update proceeds in steps within its bounds',
  ],
  'Deployment: RecreateDeployment should delete old pods and create new ones': [
    'controllers/deployment.test.ts',
    'a deployment with Recreate waits until the old sets report no pods',
  ],
  'Deployment: deployment should support rollover': [
    'controllers/deployment.test.ts',
    'pods of the old set that are not available go first, and those of a new one that fail hold the rest',
  ],
  'Deployment: deployment should support proportional scaling': [
    'controllers/deployment-scaling.test.ts',
    'a deployment that is scaled during a rollout scales all its sets in proportion, and continues the rollout',
  ],
  'Deployment: deployment should delete old replica sets': [
    'controllers/deployment-history.test.ts',
    'old sets beyond the limit are deleted, the lowest revisions first, once a rollout is complete',
  ],
  'Deployment: run the lifecycle, have a working scale subresource, validate Deployment Status endpoints': here(everyOperation),
  'ReplicaSet: adopt matching pods on creation and release no longer matching pods': [
    'controllers/replicaset.test.ts',
    'a pod whose labels no longer match is released and replaced, and adopted again when they match',
  ],
  'ReplicationController: release no longer matching pods': [
    'controllers/replicationcontroller.test.ts',
    'a replication controller adopts an orphan, and leaves alone pods of a replica set',
  ],
  'ReplicationController: surface a failure condition on a common issue like exceeded quota': [
    'controllers/resourcequota.test.ts',
    'controllers whose pods a quota refuses have a condition until there is room',
  ],
  'StatefulSet: perform canary updates and phased rolling updates of template modifications': [
    'controllers/statefulset-rollouts.test.ts',
    'places before the partition keep their template, also when they are made again',
  ],
  'StatefulSet: Should recreate evicted statefulset': [
    'controllers/statefulset.test.ts',
    'a pod whose work is over is made again under its name',
  ],
  'StatefulSet: perform rolling updates and roll backs of template modifications': [
    'controllers/statefulset-rollouts.test.ts',
    'a return to an earlier template takes up its revision again',
  ],
  'StatefulSet: Burst scaling should run to completion even with unhealthy pods': [
    'controllers/statefulset.test.ts',
    'all pods are created and deleted at once under parallel pod management',
  ],
  'StatefulSet: Scaling should happen in predictable order and halt if any stateful pod is unhealthy': [
    'controllers/statefulset.test.ts',
    'pods go from the last on, each once the one before is gone, and none while one that stays does not work',
  ],
  'DaemonSet: run and stop simple daemon': [
    'controllers/daemonset.test.ts',
    'every node gets a pod that is bound to it and has the tolerations of a daemon',
  ],
  'DaemonSet: run and stop complex daemon': [
    'controllers/daemonset.test.ts',
    'nodes that come, change their labels or get taints gain and lose pods',
  ],
  'DaemonSet: retry creating failed daemon pods': [
    'controllers/daemonset.test.ts',
    'a pod that fails is replaced, ever later when it fails again',
  ],
  'DaemonSet: rollback without unnecessary restarts, ControllerRevision lifecycle': [
    'controllers/daemonset-rollouts.test.ts',
    'a return to an earlier template takes up its revision again, and old ones beyond the limit go',
  ],
  'Job: adopt matching orphans and release non-matching pods': [
    'controllers/job.test.ts',
    'orphan pods are adopted with the finalizer, and released when they match no more',
  ],
  'Job: create pods for an Indexed job with completion indexes and specified hostname': [
    'controllers/job-indexes.test.ts',
    'the pods of an indexed job know their index, and each index succeeds once',
  ],
  'Job: manage the lifecycle of a job': [
    'controllers/job.test.ts',
    'a suspended job loses its pods, which count as nothing, and restarts its time when it is resumed',
  ],
  'Job: run a job to completion when tasks sometimes fail': [
    'controllers/job.test.ts',
    'a pod that failed is replaced ten seconds later, then twenty, until the limit is exceeded',
  ],
  'CronJob: schedule multiple jobs concurrently, not schedule jobs when suspended': [
    'controllers/cronjob.test.ts',
    'a suspended cron job starts nothing, and makes up for the last start only',
  ],
  'CronJob: not schedule new jobs when ForbidConcurrent': [
    'controllers/cronjob.test.ts',
    'a start that the policy forbids happens once the other job has ended, within its deadline',
  ],
  'DisruptionController: evictions: block an eviction until the PDB is updated to allow it': [
    'controllers/disruption.test.ts',
    'a budget follows the readiness of its pods, and evictions spend it until pods are back',
  ],
  'DisruptionController: observe PodDisruptionBudget status updated': [
    'controllers/disruption.test.ts',
    'percentages are computed from the replicas of the owners',
  ],
  'EndpointSlice: create Endpoints and EndpointSlices for Pods matching a Service': [
    'controllers/endpointslice.test.ts',
    'a service without pods has one empty slice, which is filled when pods appear',
  ],
  'EndpointSlice: create and delete Endpoints for a Service with a selector specified': [
    'controllers/endpoints.test.ts',
    'a service gets an Endpoints object with its labels and the addresses of its pods',
  ],
  'EndpointSliceMirroring: mirror a custom Endpoints resource through create update and delete': [
    'controllers/endpointslice-mirroring.test.ts',
    'a slice follows its object, and is not written where nothing changes for it',
  ],
  'NoExecuteTaintManager: evict pods with a minimum toleration, and remove the taint to cancel': [
    'controllers/taint-eviction.test.ts',
    'a taint that is removed in time changes nothing, and one that stays evicts the pod once',
  ],
  'PersistentVolumes: confirm the deletion of a PV and a PVC despite their protection': [
    'controllers/persistentvolumeclaim-protection.test.ts',
    'claims in use stay until their pods are gone; unused ones are deleted',
  ],
  'Aggregator: be able to support the 1.17 Sample API Server using the current Aggregator': [
    'apiserver/aggregation-clients.test.ts',
    'a sample server and its registration go through all that the official suite does with them',
  ],
  'AdmissionWebhook: be able to deny pod and configmap creation': [
    'plane/webhooks.test.ts',
    'a webhook refuses pods and config maps in any encoding, but not outside its rules',
  ],
  'AdmissionWebhook: be able to deny attaching pod': ['plane/webhooks.test.ts', 'a webhook may refuse that a user attaches to a pod'],
  'AdmissionWebhook: be able to deny custom resource creation, update and deletion': [
    'plane/webhooks.test.ts',
    'custom resources can be refused when they are made, changed and deleted',
  ],
  'AdmissionWebhook: unconditionally reject operations on fail closed webhook': [
    'plane/webhooks.test.ts',
    'an unreachable webhook that fails closed refuses everything it matches',
  ],
  'AdmissionWebhook: mutate configmap': ['plane/webhooks.test.ts', 'config maps are changed by several webhooks one after another'],
  'AdmissionWebhook: mutate pod and apply defaults after mutation': [
    'plane/webhooks.test.ts',
    'changes of a webhook to a pod get defaults',
  ],
  'AdmissionWebhook: not be able to mutate or prevent deletion of webhook configuration objects': [
    'plane/webhooks.test.ts',
    'configurations of webhooks are neither changed nor kept from going by webhooks',
  ],
  'AdmissionWebhook: mutate custom resource, with different stored version, with pruning': [
    'plane/webhooks.test.ts',
    'webhooks change custom resources, whatever their stored version, and unknown fields are pruned',
  ],
  'AdmissionWebhook: deny crd creation': ['plane/webhooks.test.ts', 'definitions of custom resources can be refused'],
  'AdmissionWebhook: patching/updating a validating webhook, a mutating webhook': [
    'plane/webhook-configurations.test.ts',
    'configuration that is put or patched means',
  ],
  'AdmissionWebhook: listing validating webhooks, mutating webhooks': [
    'plane/webhook-configurations.test.ts',
    'configurations are listed by their labels, and deleted together mean',
  ],
  'AdmissionWebhook: include webhook resources in discovery documents': [
    'plane/webhook-configurations.test.ts',
    'discovery lists the configurations of webhooks',
  ],
  'AdmissionWebhook: create and update validating and mutating webhook configurations with match conditions, reject invalid ones': [
    'plane/webhook-configurations.test.ts',
    'configuration keeps conditions, changed ones too, and is refused with one that is no expression',
  ],
  'AdmissionWebhook: mutate everything except skip-me configmaps': [
    'plane/webhook-configurations.test.ts',
    'all objects are changed except those that the conditions exclude',
  ],
  'AdmissionWebhook: honor timeout': [
    'apiserver/webhook-calls.test.ts',
    'a webhook that does not answer in time, or whose caller goes away, is given up',
  ],
  'CustomResourceConversionWebhook: be able to convert from CR v1 to CR v2': [
    'plane/webhook-configurations.test.ts',
    'custom resources are converted from one version to another by a webhook, one and many, whatever version each is stored in',
  ],
  'CustomResourceConversionWebhook: be able to convert a non homogeneous list of CRs': [
    'plane/webhook-configurations.test.ts',
    'custom resources are converted from one version to another by a webhook, one and many, whatever version each is stored in',
  ],
  'ValidatingAdmissionPolicy: validate against a Deployment': [
    'plane/policies.test.ts',
    'deployments are held against a policy, and against one with variables and parameters',
  ],
  'ValidatingAdmissionPolicy: allow expressions to refer variables': [
    'plane/policies.test.ts',
    'deployments are held against a policy, and against one with variables and parameters',
  ],
  'ValidatingAdmissionPolicy: type check validation expressions, type check a CRD': [
    'plane/policies.test.ts',
    'the types of a policy are checked, also against custom resources',
  ],
  'ValidatingAdmissionPolicy: support ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding API operations': [
    'plane/policies.test.ts',
    'go through every operation, each seen by a watch',
  ],
  'MutatingAdmissionPolicy: mutate a Deployment': [
    'plane/policies.test.ts',
    'a deployment is changed by a mutating policy before validating ones see it; the policy is served in both versions',
  ],
  'MutatingAdmissionPolicy: support MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding API operations': [
    'plane/policies.test.ts',
    'go through every operation, each seen by a watch',
  ],
  'CustomResourceDefinition resources: creating/deleting, listing custom resource definition objects works': [
    'apiserver/custom-conformance.test.ts',
    'definitions are created, listed by label, deleted together, and watched',
  ],
  'CustomResourceDefinition Watch: watch on custom resource definition objects': [
    'apiserver/custom-conformance.test.ts',
    'custom objects are watched as they are created, updated and deleted',
  ],
  'CustomResourceDefinition resources: getting/updating/patching custom resource definition status sub-resource works': [
    'apiserver/custom-conformance.test.ts',
    'the status of a definition is read, patched and put at its own address',
  ],
  'CustomResourceDefinition resources: include custom resource definition resources in discovery documents': [
    'apiserver/custom-conformance.test.ts',
    'discovery lists the kind of definitions at each of its levels',
  ],
  'CustomResourceDefinition resources: custom resource defaulting for requests and from storage works': [
    'apiserver/custom-conformance.test.ts',
    'defaults fill in writes, and reads of earlier objects, and keep given values',
  ],
  'CustomResourcePublishOpenAPI: works for CRD with, without validation schema, preserving unknown fields at the schema root': [
    'apiserver/custom-conformance.test.ts',
    'the documents describe a custom resource with a schema, and one without as any object',
  ],
  'CustomResourcePublishOpenAPI: works for CRD preserving unknown fields in an embedded object': [
    'apiserver/custom-conformance.test.ts',
    'a schema that preserves unknown fields is published as any object',
  ],
  'CustomResourcePublishOpenAPI: works for multiple CRDs of different groups, of same group but different versions, of same group and version but different kinds':
    ['apiserver/custom-conformance.test.ts', 'the OpenAPI documents include several definitions, across groups, versions and kinds'],
  'CustomResourcePublishOpenAPI: updates the published spec when one version gets renamed, removes definition from spec when one version gets changed to not be served':
    ['apiserver/custom-conformance.test.ts', 'the documents follow a version that is renamed, and one that is no longer served'],
  'FieldValidation: create/apply a valid CR for CRD with validation schema': [
    'apiserver/custom-conformance.test.ts',
    'strict callers take a valid object of a schema',
  ],
  'FieldValidation: create/apply an invalid CR with extra properties for CRD with validation schema': [
    'apiserver/custom-conformance.test.ts',
    'strict field validation reports fields that are not in the schema',
  ],
  'FieldValidation: create/apply a CR with unknown fields for CRD with no validation schema': [
    'apiserver/custom-conformance.test.ts',
    'strict clients send any field where there is no schema',
  ],
  'FieldValidation: create/apply an invalid/valid CR with arbitrary-extra properties for CRD with partially-specified validation schema': [
    'apiserver/custom-conformance.test.ts',
    'strict clients add unknown fields where a part is specified and the rest preserved',
  ],
  'FieldValidation: detect unknown metadata fields in both the root and embedded object of a CR': [
    'apiserver/custom-conformance.test.ts',
    'strict clients get errors for unknown metadata, of the object and of an embedded one',
  ],
  'FieldValidation: detect duplicates in a CR when preserving unknown fields': [
    'apiserver/custom-conformance.test.ts',
    'fields that are there twice are refused even where unknown ones are kept',
  ],
};
