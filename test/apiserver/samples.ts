import {sign} from 'node:crypto';
import {authorityPem, createAuthority} from '#src/pki/authority.js';
import {generatePrivateKey, publicKeyDer} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Naming} from '#src/api/naming.js';

const request = Buffer.from(createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'jane'}})).toString('base64');

const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [{name: 'c', image: 'example.com/image:1'}]}};
const workload = {spec: {selector: {matchLabels: {app: 'a'}}, template}};
const work = {template: {spec: {...template.spec, restartPolicy: 'Never'}}};

const rule = {operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods']};
const webhooks = [
  {
    name: 'a.example.com',
    clientConfig: {url: 'https://example.com/x'},
    rules: [rule],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  },
];

const podKey = await generatePrivateKey({kind: 'ed25519'});
const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now: Date.UTC(2026, 0, 1)});
const trustBundle = authorityPem(authority).certificate;

/**
 * The required fields of an object of a kind besides its name. `Group/Kind` distinguishes kinds of one name. Some kinds
 * repeat their names: theirs match the first of `names`, or the name given.
 */
export const samples = (naming: Naming, name?: string): Readonly<Record<string, object>> => ({
  APIService: {spec: {group: (name ?? 'v1.one').slice(3), version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15}},
  CertificateSigningRequest: {spec: {request, signerName: 'example.com/signer', usages: ['client auth']}},
  CustomResourceDefinition: {
    spec: {
      group: 'example.com',
      names: {plural: (name ?? 'ones.example.com').split('.')[0], kind: `Kind${(name ?? 'ones').split('.')[0]}`},
      scope: 'Namespaced',
      versions: [
        {name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object', properties: {spec: {type: 'object'}}}}},
      ],
    },
  },
  Pod: {spec: {containers: [{name: 'c', image: 'nginx'}]}},
  PodTemplate: {template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'nginx'}]}}},
  ReplicationController: {spec: {template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'nginx'}]}}}},
  Secret: {type: 'Opaque', data: {a: 'Yg=='}},
  Role: {rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]},
  ClusterRole: {rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]},
  RoleBinding: {
    roleRef: {apiGroup: naming.group('rbac.authorization'), kind: 'ClusterRole', name: 'view'},
    subjects: [{kind: 'User', apiGroup: naming.group('rbac.authorization'), name: 'jane'}],
  },
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
  HorizontalPodAutoscaler: {spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'}}},
  MutatingWebhookConfiguration: {webhooks},
  ValidatingWebhookConfiguration: {webhooks},
  ValidatingAdmissionPolicy: {spec: {matchConstraints: {resourceRules: [rule]}, validations: [{expression: 'true'}]}},
  ValidatingAdmissionPolicyBinding: {spec: {policyName: 'x', validationActions: ['Deny']}},
  MutatingAdmissionPolicy: {
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: {resourceRules: [rule]},
      mutations: [{patchType: 'JSONPatch', jsonPatch: {expression: '[JSONPatch{op: "test", path: "/kind", value: "Pod"}]'}}],
    },
  },
  MutatingAdmissionPolicyBinding: {spec: {policyName: 'x'}},
  PodCertificateRequest: {
    spec: {
      signerName: 'example.com/signer',
      podName: 'p',
      podUID: 'u',
      serviceAccountName: 's',
      serviceAccountUID: 'u',
      nodeName: 'n',
      nodeUID: 'u',
      pkixPublicKey: publicKeyDer(podKey).toString('base64'),
      proofOfPossession: sign(null, Buffer.from('u'), podKey).toString('base64'),
    },
  },
  ClusterTrustBundle: {spec: {trustBundle}},
  FlowSchema: {spec: {priorityLevelConfiguration: {name: 'global-default'}}},
  PriorityLevelConfiguration: {spec: {type: 'Limited', limited: {limitResponse: {type: 'Reject'}}}},
  StorageVersionMigration: {spec: {resource: {resource: 'pods'}}},
  ControllerRevision: {revision: 1, data: {a: 'b'}},
  DaemonSet: workload,
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  CronJob: {spec: {schedule: '* * * * *', jobTemplate: {spec: work}}},
  Job: {spec: work},
  Service: {spec: {ports: [{port: 80}]}},
  PersistentVolume: {spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}}},
  PersistentVolumeClaim: {spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}},
  LeaseCandidate: {spec: {leaseName: 'l', binaryVersion: '1.35.0', emulationVersion: '1.35.0', strategy: 'OldestEmulationVersion'}},
  EndpointSlice: {addressType: 'IPv4', endpoints: [{addresses: ['10.1.2.3']}], ports: [{port: 80}]},
  Ingress: {spec: {defaultBackend: {service: {name: 's', port: {number: 80}}}}},
  IngressClass: {spec: {controller: 'example.com/controller'}},
  IPAddress: {spec: {parentRef: {resource: 'services', namespace: 'default', name: 's'}}},
  ServiceCIDR: {spec: {cidrs: ['10.7.0.0/24']}},
  ResourceClaim: {spec: {devices: {constraints: [{matchAttribute: 'example.com/model'}]}}},
  ResourceClaimTemplate: {spec: {spec: {devices: {constraints: [{matchAttribute: 'example.com/model'}]}}}},
  ResourceSlice: {spec: {driver: 'example.com', pool: {name: 'p', generation: 1, resourceSliceCount: 1}, nodeName: 'n'}},
  DeviceTaintRule: {spec: {deviceSelector: {driver: 'example.com'}, taint: {key: 'example.com/broken', effect: 'NoSchedule'}}},
  PriorityClass: {value: 10},
  RuntimeClass: {handler: 'runner'},
  Workload: {spec: {podGroups: [{name: 'g', policy: {gang: {minCount: 2}}}]}},
  CSIStorageCapacity: {storageClassName: 'c', capacity: '1Gi'},
  StorageClass: {provisioner: 'example.com/maker'},
  VolumeAttachment: {spec: {attacher: 'example.com', nodeName: 'n', source: {persistentVolumeName: 'v'}}},
  VolumeAttributesClass: {driverName: 'example.com', parameters: {iops: '10'}},
});

/** What objects are called in the tests, of kinds that are not called as one likes. */
export const names: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  APIService: {one: 'v1.one', a: 'v1.a', b: 'v1.b', none: 'v1.none'},
  CustomResourceDefinition: {one: 'ones.example.com', a: 'as.example.com', b: 'bs.example.com', none: 'none.example.com'},
  StorageVersion: {one: 'a.one', a: 'a.a', b: 'a.b', none: 'a.none'},
  IPAddress: {one: '10.9.0.1', a: '10.9.0.2', b: '10.9.0.3', none: '10.9.0.4'},
};
