import {condition, explains, type Row} from './reported.js';
import {kinds} from './situations.js';

const aClaim = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, storageClassName: 'fast', ...spec},
});
const aVolume = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}, ...spec},
});

const storage: readonly Row[] = [
  {
    title: 'a claim whose volume is gone',
    kind: kinds.persistentVolumeClaims,
    name: 'lost',
    arrange: at => at.put(kinds.persistentVolumeClaims, aClaim('lost', {volumeName: 'gone'}), {phase: 'Lost'}),
    answer: 'PersistentVolumeClaim default/lost is blocked: its volume gone does not exist any more.',
    ends: 'Nothing ends it: the data are gone with the volume. Delete the claim, and create another one.',
  },
  {
    title: 'a claim for a volume that does not exist',
    kind: kinds.persistentVolumeClaims,
    name: 'named',
    arrange: at => at.put(kinds.persistentVolumeClaims, aClaim('named', {volumeName: 'absent'})),
    answer: 'PersistentVolumeClaim default/named is blocked: it asks for the volume absent, which does not exist.',
    ends: 'The creation of the volume absent.',
  },
  {
    title: 'a claim for the volume of another',
    kind: kinds.persistentVolumeClaims,
    name: 'taker',
    async arrange(at) {
      await at.put(kinds.persistentVolumes, aVolume('taken', {claimRef: {namespace: 'default', name: 'first'}}));
      await at.put(kinds.persistentVolumeClaims, aClaim('taker', {volumeName: 'taken'}));
    },
    answer: 'PersistentVolumeClaim default/taker is blocked: it asks for the volume taken, which belongs to the claim default/first.',
    ends: 'A claim for another volume.',
  },
  {
    title: 'a claim whose file system has to grow',
    kind: kinds.persistentVolumeClaims,
    name: 'grows',
    arrange: at =>
      at.put(kinds.persistentVolumeClaims, aClaim('grows'), {
        phase: 'Bound',
        conditions: [condition('FileSystemResizePending', 'True', '', 'Waiting for user to (re-)start a pod')],
      }),
    answer:
      'PersistentVolumeClaim default/grows is blocked: its volume does not have its new form yet: FileSystemResizePending (Waiting for user to (re-)start a pod).',
    ends: 'A pod that uses it: its node resizes the file system.',
  },
  {
    title: 'a volume that cannot be deleted',
    kind: kinds.persistentVolumes,
    name: 'failed',
    arrange: at => at.put(kinds.persistentVolumes, aVolume('failed'), {phase: 'Failed', reason: 'VolumeFailedDelete', message: 'in use'}),
    answer: 'PersistentVolume failed is blocked: it cannot be reclaimed: VolumeFailedDelete: in use.',
    ends: 'The driver of the volume, once it has deleted it, or a deletion by hand.',
  },
  {
    title: 'a volume that its driver has to delete',
    kind: kinds.persistentVolumes,
    name: 'released',
    arrange: at =>
      at.put(
        kinds.persistentVolumes,
        aVolume('released', {persistentVolumeReclaimPolicy: 'Delete', claimRef: {namespace: 'default', name: 'x'}}),
        {phase: 'Released'},
      ),
    answer: 'PersistentVolume released is blocked: its claim default/x is gone, and its driver has not deleted it.',
    ends: 'The driver of the volume, once it has deleted it.',
  },
  {
    title: 'a volume that is still bound',
    kind: kinds.persistentVolumes,
    name: 'bound',
    async arrange(at) {
      await at.put(kinds.persistentVolumeClaims, aClaim('holder', {volumeName: 'bound'}));
      await at.put(kinds.persistentVolumes, {
        ...aVolume('bound', {claimRef: {namespace: 'default', name: 'holder'}}),
        metadata: {name: 'bound', finalizers: ['kubernetes.io/pv-protection']},
      });
      await at.delete(kinds.persistentVolumes, 'bound');
    },
    answer:
      'PersistentVolume bound is blocked: it is being deleted, and the finalizer kubernetes.io/pv-protection keeps it: the claim default/holder is still bound to the volume.',
    ends: 'The deletion of the claim default/holder.',
  },
  {
    title: 'devices that nobody has allocated',
    kind: kinds.resourceClaims,
    name: 'devices',
    arrange: at => at.put(kinds.resourceClaims, {metadata: {name: 'devices'}, spec: {devices: {}}}),
    answer: 'ResourceClaim default/devices is blocked: no devices are allocated to it, of 0 that the nodes offer.',
    ends: 'Devices that match and are free, once a pod that uses the claim is scheduled.',
  },
];

const aService = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: {name, ...metadata},
  spec: {ports: [{port: 443}], ...spec},
});
const webhook = (name: string, service: string) => ({
  name,
  clientConfig: {service: {name: service, namespace: 'default'}},
  rules: [{apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['none'], operations: ['CREATE']}],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
});

const api: readonly Row[] = [
  {
    title: 'a webhook behind a service without endpoints',
    kind: kinds.mutatingWebhookConfigurations,
    name: 'defaults',
    async arrange(at) {
      await at.put(kinds.services, aService('checker', {selector: {app: 'checker'}}));
      await at.put(kinds.mutatingWebhookConfigurations, {
        metadata: {name: 'defaults'},
        webhooks: [webhook('defaults.example.com', 'checker')],
      });
    },
    answer:
      'MutatingWebhookConfiguration defaults is blocked by Service default/checker: it has no endpoints, as no pod in its namespace matches its selector app=checker.',
    ends: 'Pods with these labels, or another selector.',
  },
  {
    title: 'a load balancer that is being deleted',
    kind: kinds.services,
    name: 'leaving',
    async arrange(at) {
      await at.put(kinds.services, aService('leaving', {}, {finalizers: ['service.kubernetes.io/load-balancer-cleanup']}));
      await at.event(kinds.services, 'leaving', 'DeleteLoadBalancerFailed', 'the cloud is away');
      await at.delete(kinds.services, 'leaving');
    },
    answer:
      'Service default/leaving is blocked: it is being deleted, and the finalizer service.kubernetes.io/load-balancer-cleanup keeps it: its load balancer is not deleted yet (the cloud is away).',
    ends: 'The service controller of the cloud provider, once it has deleted the load balancer.',
  },
  {
    title: 'an object that is to leave its dependents behind',
    kind: kinds.configMaps,
    name: 'orphans',
    async arrange(at) {
      await at.put(kinds.configMaps, {metadata: {name: 'orphans', finalizers: ['orphan']}});
      await at.delete(kinds.configMaps, 'orphans');
    },
    answer: 'ConfigMap default/orphans is blocked: the garbage collector has to remove it from the owners of its dependents first.',
    ends: 'The garbage-collector-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a namespace that its controller has not seen',
    kind: kinds.namespaces,
    name: 'ending',
    async arrange(at) {
      await at.put(kinds.namespaces, {metadata: {name: 'ending'}});
      await at.delete(kinds.namespaces, 'ending');
    },
    answer: 'Namespace ending is blocked: it is being deleted, and the namespace controller has not reported yet what is left in it.',
    ends: 'The namespace-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a quota that is not counted',
    kind: kinds.resourceQuotas,
    name: 'new',
    arrange: at => at.put(kinds.resourceQuotas, {metadata: {name: 'new'}, spec: {hard: {configmaps: '100'}}}),
    answer: 'ResourceQuota default/new is blocked: what it limits is not counted yet, and until then nothing of it can be created.',
    ends: 'The resourcequota-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a lease that nobody holds',
    kind: kinds.leases,
    name: 'free',
    arrange: at => at.put(kinds.leases, {metadata: {name: 'free'}, spec: {holderIdentity: '', renewTime: '2026-01-01T00:00:00.000000Z'}}),
    answer: 'Lease default/free is blocked: nobody holds it.',
    ends: 'A candidate that runs and takes it.',
  },
  {
    title: 'a definition in a protected group',
    kind: kinds.customResourceDefinitions,
    name: 'things.example.k8s.io',
    async arrange(at) {
      const names = {plural: 'things', kind: 'Thing', singular: 'thing', listKind: 'ThingList'};
      const versions = [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}];
      await at.put(kinds.customResourceDefinitions, {
        metadata: {name: 'things.example.k8s.io', annotations: {'api-approved.kubernetes.io': 'unapproved, for a test'}},
        spec: {group: 'example.k8s.io', scope: 'Cluster', names, versions},
      });
      await at.situations.plane.clock.advance(5_000);
      await at.situations
        .patch(kinds.customResourceDefinitions, 'things.example.k8s.io', {metadata: {annotations: null}})
        .catch(() => undefined);
    },
    answer:
      'CustomResourceDefinition things.example.k8s.io is blocked: its group is protected: UnapprovedAnnotation: not approved: "unapproved, for a test".',
    ends: 'Another group.',
  },
];

await explains([...storage, ...api]);
