import test from 'ava';
import type {SchemaNode} from '#src/schema/node.js';
import {decode, decodeValue} from '#src/schema/decode/decode.js';
import {configMap, decoded, node, pod, problems, refusal, secret} from './decoding.js';

const csr = node('certificates', 'CertificateSigningRequest');
const deployment = node('apps', 'Deployment');
const lease = node('coordination', 'Lease');
const ingress = node('networking', 'Ingress');
const policy = node('admissionregistration', 'ValidatingAdmissionPolicy');
const accessReview = node('authorization', 'SubjectAccessReview');

test('a time in whole seconds of UTC stays as it is', t => {
  for (const time of ['2026-01-31T23:59:59Z', '2024-02-29T00:00:00Z', '2000-02-29T12:00:00Z', '0001-01-01T00:00:01Z'])
    t.like(decoded(configMap, {metadata: {creationTimestamp: time}}), {metadata: {creationTimestamp: time}});
  t.deepEqual(decoded(configMap, {metadata: {name: 'a', creationTimestamp: '0001-01-01T00:00:00Z'}}), {metadata: {name: 'a'}});
});

test('only known fields remain, in their canonical form', t => {
  t.deepEqual(
    decoded(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      bogus: 1,
      metadata: {name: 'a', labels: {}, annotations: null, creationTimestamp: '2026-01-01T12:00:00.75+02:00', managedFields: []},
      spec: {
        containers: [{name: 'c', image: 'i', resources: {limits: {memory: '1024Mi', cpu: 0.5}}, args: []}, null],
        nodeSelector: {a: null},
        volumes: [{name: 'v', emptyDir: {}}],
      },
      status: {},
    }),
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name: 'a', creationTimestamp: '2026-01-01T10:00:00Z', managedFields: []},
      spec: {
        containers: [
          {name: 'c', image: 'i', resources: {limits: {memory: '1Gi', cpu: '500m'}}},
          {name: '', resources: {}},
        ],
        nodeSelector: {a: ''},
        volumes: [{name: 'v', emptyDir: {}}],
      },
      status: {},
    },
  );
});

test('an object is the same from its text and from a value, which is not changed', t => {
  const container = {name: 'c', image: 'i', resources: {limits: {cpu: 0.5}}, args: [], bogus: {}, env: null};
  const sent = {
    metadata: {labels: {a: 'b', __c__: 'd'}, annotations: {}, creationTimestamp: null, name: 'p', uid: ''},
    bogus: [],
    spec: {volumes: [{emptyDir: {}, name: 'v'}], containers: [container, null], nodeSelector: {a: null, b: 'c'}, priority: -0},
  };
  const text = JSON.stringify(sent);
  const value = JSON.parse(text) as typeof sent;

  const ofText = decode(text, 'json', pod, 'Strict');
  const ofValue = decodeValue(value, pod, 'Strict');

  t.is(JSON.stringify(ofText.object), JSON.stringify(ofValue.object));
  t.deepEqual(ofText.problems, ofValue.problems);
  t.is(ofText.problems.length, 2);
  t.is(JSON.stringify(value), text);
});

test('a repeated field is reported beside fields that are left out, and none is without', t => {
  const text = (field: string) =>
    `{"metadata": {"name": "a", "creationTimestamp": null, "labels": {}}, "data": {"a": "b", "${field}": "c"}}`;
  t.deepEqual(problems(configMap, text('a')), ['duplicate field "data.a"']);
  t.deepEqual(problems(configMap, text('b')), []);
});

test('empty means absent, unless the field distinguishes them', t => {
  t.deepEqual(
    decoded(pod, {
      metadata: {name: 'p', generateName: '', generation: 0, deletionGracePeriodSeconds: 0},
      spec: {
        hostNetwork: false,
        automountServiceAccountToken: false,
        runtimeClassName: '',
        hostname: '',
        activeDeadlineSeconds: 0,
        priority: 0,
        containers: [],
      },
    }),
    {
      metadata: {name: 'p', deletionGracePeriodSeconds: 0},
      spec: {automountServiceAccountToken: false, runtimeClassName: '', activeDeadlineSeconds: 0, priority: 0, containers: []},
    },
  );
  t.deepEqual(decoded(node('rbac.authorization', 'Role'), {rules: []}), {rules: []});
  t.deepEqual(decoded(node('networking', 'NetworkPolicy'), {spec: {podSelector: {}, ingress: []}}), {spec: {podSelector: {}}});
});

test('unstructured fields are kept as they are', t => {
  const entry = {manager: 'm', fieldsType: 'FieldsV1', fieldsV1: {'f:metadata': {'f:labels': {'.': {}}}}};
  t.deepEqual(decoded(configMap, {metadata: {managedFields: [entry]}}), {metadata: {managedFields: [entry]}});
});

test('names are case-sensitive', t => {
  t.deepEqual(problems(configMap, '{"Data":{}}'), ['unknown field "Data"']);
});

test('null and an empty body mean absent', t => {
  t.deepEqual(decoded(configMap, null), {});
  t.deepEqual(decoded(configMap, {data: null, metadata: null}), {});
});

test('times of a lease keep six decimals', t => {
  t.deepEqual(decoded(lease, {spec: {renewTime: '2026-01-01T00:00:00.123456+01:00'}}), {spec: {renewTime: '2025-12-31T23:00:00.123456Z'}});
});

test('the zero time is absent', t => {
  t.deepEqual(decoded(configMap, {metadata: {creationTimestamp: '0001-01-01T00:00:00Z'}}), {metadata: {}});
});

const mismatches: readonly [type: SchemaNode, text: string, message: string][] = [
  [
    configMap,
    '{"metadata":{"labels":"x"}}',
    'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
  ],
  [
    configMap,
    '{"metadata":{"labels":{"a":1}}}',
    'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
  ],
  [configMap, '{"metadata":[]}', 'json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta'],
  [
    configMap,
    '{"metadata":{"finalizers":[true]}}',
    'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.finalizers of type string',
  ],
  [configMap, '{"immutable":"x"}', 'json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool'],
  [
    csr,
    '{"spec":{"expirationSeconds":1.5}}',
    'json: cannot unmarshal number 1.5 into Go struct field CertificateSigningRequestSpec.spec.expirationSeconds of type int32',
  ],
  [
    csr,
    '{"spec":{"expirationSeconds":2147483648}}',
    'json: cannot unmarshal number 2147483648 into Go struct field CertificateSigningRequestSpec.spec.expirationSeconds of type int32',
  ],
  [
    csr,
    '{"spec":{"expirationSeconds":"1"}}',
    'json: cannot unmarshal string into Go struct field CertificateSigningRequestSpec.spec.expirationSeconds of type int32',
  ],
  [
    csr,
    '{"spec":{"usages":"x"}}',
    'json: cannot unmarshal string into Go struct field CertificateSigningRequestSpec.spec.usages of type []v1.KeyUsage',
  ],
  [
    csr,
    '{"spec":{"usages":[1]}}',
    'json: cannot unmarshal number into Go struct field CertificateSigningRequestSpec.spec.usages of type v1.KeyUsage',
  ],
  [
    lease,
    '{"spec":{"strategy":1}}',
    'json: cannot unmarshal number into Go struct field LeaseSpec.spec.strategy of type v1.CoordinatedLeaseStrategy',
  ],
  [pod, '{"metadata":{"uid":{}}}', 'json: cannot unmarshal object into Go struct field ObjectMeta.metadata.uid of type types.UID'],
  [pod, '{"spec":{"overhead":1}}', 'json: cannot unmarshal number into Go struct field PodSpec.spec.overhead of type v1.ResourceList'],
  [pod, '{"spec":{"containers":[1]}}', 'json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container'],
  [
    accessReview,
    '{"spec":{"extra":{"a":1}}}',
    'json: cannot unmarshal number into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue',
  ],
  [
    accessReview,
    '{"spec":{"extra":{"a":[1]}}}',
    'json: cannot unmarshal number into Go struct field SubjectAccessReviewSpec.spec.extra of type string',
  ],
  [
    csr,
    '{"spec":{"request":{}}}',
    'json: cannot unmarshal object into Go struct field CertificateSigningRequestSpec.spec.request of type []uint8',
  ],
  [csr, '{"spec":{"request":"%%%"}}', 'illegal base64 data at input byte 0'],
  [secret, '{"data":{"a":"YQ"}}', 'illegal base64 data at input byte 0'],
  [secret, '{"data":{"a":"YWJj*"}}', 'illegal base64 data at input byte 4'],
  [secret, '{"data":{"a":[1,300]}}', 'json: cannot unmarshal number 300 into Go struct field Secret.data of type uint8'],
  [secret, '{"data":{"a":[1.5]}}', 'json: cannot unmarshal number 1.5 into Go struct field Secret.data of type uint8'],
  [
    csr,
    '{"spec":{"request":["a"]}}',
    'json: cannot unmarshal string into Go struct field CertificateSigningRequestSpec.spec.request of type uint8',
  ],
  [secret, '{"data":{"a":"YQ="}}', 'illegal base64 data at input byte 3'],
  [secret, '{"data":{"a":"YQ==x"}}', 'illegal base64 data at input byte 4'],
  [
    configMap,
    '{"metadata":{"generation":9223372036854775808}}',
    'json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    configMap,
    '{"metadata":{"generation":1.0}}',
    'json: cannot unmarshal number 1.0 into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    configMap,
    '{"metadata":{"annotations":{"a":":1.0"},"generation":1e2}}',
    'json: cannot unmarshal number 1e2 into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    configMap,
    '{"metadata":{"generation":1e400}}',
    'json: cannot unmarshal number 1e400 into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    deployment,
    '{"spec":{"replicas":9223372036854775807}}',
    'json: cannot unmarshal number 9223372036854775807 into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    configMap,
    '{"metadata":{"creationTimestamp":1}}',
    'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
  ],
  [configMap, '{"metadata":{"creationTimestamp":"x"}}', 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-13-01T00:00:00Z"}}', 'parsing time "2026-13-01T00:00:00Z": month out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-02-30T00:00:00Z"}}', 'parsing time "2026-02-30T00:00:00Z": day out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-01-01T24:00:00Z"}}', 'parsing time "2026-01-01T24:00:00Z": hour out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-01-01T00:00:60Z"}}', 'parsing time "2026-01-01T00:00:60Z": second out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-00-01T00:00:00Z"}}', 'parsing time "2026-00-01T00:00:00Z": month out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-01-00T00:00:00Z"}}', 'parsing time "2026-01-00T00:00:00Z": day out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2100-02-29T00:00:00Z"}}', 'parsing time "2100-02-29T00:00:00Z": day out of range'],
  [configMap, '{"metadata":{"creationTimestamp":"2026-01-01T00:60:00Z"}}', 'parsing time "2026-01-01T00:60:00Z": minute out of range'],
  [
    configMap,
    '{"metadata":{"creationTimestamp":"2026-01-01"}}',
    'parsing time "2026-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
  ],
  [configMap, '{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Zx"}}', 'parsing time "2026-01-01T00:00:00Zx": extra text: "x"'],
  [
    lease,
    '{"spec":{"renewTime":"2026-01-01T00:00:00Z"}}',
    'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
  ],
  [
    pod,
    '{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    pod,
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]}}',
    'json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32',
  ],
  [
    pod,
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":5}}]}}',
    'json: cannot unmarshal number into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.httpGet of type v1.HTTPGetAction',
  ],
  [
    ingress,
    '{"spec":{"rules":[{"http":{"paths":{}}}]}}',
    'json: cannot unmarshal object into Go struct field HTTPIngressRuleValue.spec.rules.IngressRuleValue.http.paths of type []v1.HTTPIngressPath',
  ],
  [
    ingress,
    '{"spec":{"rules":[{"host":1}]}}',
    'json: cannot unmarshal number into Go struct field IngressRule.spec.rules.host of type string',
  ],
  [
    policy,
    '{"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":1}]}}}',
    'json: cannot unmarshal number into Go struct field NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule.apiGroups of type []string',
  ],
];

for (const [type, text, message] of mismatches) {
  test(`${text.slice(0, 70)} is refused as the field words it`, t => {
    t.is(refusal(type, text), message);
  });
}
