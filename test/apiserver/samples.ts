import {generatePrivateKey} from '#src/pki/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Naming} from '#src/api/naming.js';

const request = Buffer.from(createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'jane'}})).toString('base64');

const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [{name: 'c', image: 'example.com/image:1'}]}};
const workload = {spec: {selector: {matchLabels: {app: 'a'}}, template}};
const work = {template: {spec: {...template.spec, restartPolicy: 'Never'}}};

/** What an object of a kind must have besides its name, where it must have anything. `Group/Kind` tells kinds of one name apart. */
export const samples = (naming: Naming): Readonly<Record<string, object>> => ({
  CertificateSigningRequest: {spec: {request, signerName: 'example.com/signer', usages: ['client auth']}},
  Pod: {spec: {containers: [{name: 'c', image: 'nginx'}]}},
  PodTemplate: {template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'nginx'}]}}},
  ReplicationController: {spec: {template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'nginx'}]}}}},
  Secret: {type: 'Opaque', data: {a: 'Yg=='}},
  Role: {rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]},
  ClusterRole: {rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]},
  RoleBinding: {roleRef: {apiGroup: naming.group('rbac.authorization'), kind: 'ClusterRole', name: 'view'}, subjects: [{kind: 'User', apiGroup: naming.group('rbac.authorization'), name: 'jane'}]},
  ClusterRoleBinding: {roleRef: {apiGroup: naming.group('rbac.authorization'), kind: 'ClusterRole', name: 'view'}},
  Event: {involvedObject: {kind: 'ConfigMap', namespace: 'default', name: 'x'}, reason: 'Tried', message: 'it was tried', type: 'Normal'},
  [`${naming.group('events')}/Event`]: {
    regarding: {kind: 'ConfigMap', namespace: 'default', name: 'x'},
    reason: 'Tried',
    action: 'Try',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/tester',
    reportingInstance: 'one',
  },
  ControllerRevision: {revision: 1, data: {a: 'b'}},
  DaemonSet: workload,
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  CronJob: {spec: {schedule: '* * * * *', jobTemplate: {spec: work}}},
  Job: {spec: work},
});
