import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {refusal} from '#test/resources/environment.js';
import {startPolicyEnvironment} from './policy-environment.js';

interface MutationCase {
  readonly title: string;
  readonly expression: string;
  readonly patchType?: 'JSONPatch';
  /** The config map `c` with the label `l` and `data.a` 1 after admission. */
  readonly made?: object;
  /** Or why it cannot be made. */
  readonly refused?: object;
}

const mutatedBy = (message: string) => `policy 'p' with binding 'b' denied request: ${message}`;
const invalid = (message: string) => ({
  code: 403,
  reason: 'Invalid',
  message: mutatedBy(message),
  details: {name: 'c', kind: 'configmaps', causes: [{message: mutatedBy(message)}]},
});

const mutationCases: readonly MutationCase[] = [
  {
    title: 'a configuration is laid over an object',
    expression: 'Object{metadata: Object.metadata{labels: {"added": "yes"}}, data: {"b": "2"}}',
    made: {metadata: {labels: {l: 'x', added: 'yes'}}, data: {a: '1', b: '2'}},
  },
  {
    title: 'a configuration may set an existing field',
    expression: 'Object{data: {"a": string(int(object.data.a) + 1)}}',
    made: {data: {a: '2'}},
  },
  {title: 'a configuration may be empty', expression: 'Object{}', made: {data: {a: '1'}}},
  {
    title: 'a configuration with a field of no kind',
    expression: 'Object{spec: Object.spec{a: 1}}',
    refused: invalid('error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema'),
  },
  {
    title: 'a configuration with a value of the wrong type',
    expression: 'Object{data: {"a": 1}}',
    refused: invalid(
      'error applying patch: failed to convert patch object to typed object: .data.a: expected string, got &value.valueUnstructured{Value:1}',
    ),
  },
  {
    title: 'a configuration with the name of another type',
    expression: 'Object{metadata: Object.spec{labels: {"a": "b"}}}',
    refused: invalid(
      'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type',
    ),
  },
  {
    title: 'a configuration that fails',
    expression: 'Object{data: {"b": object.data.missing}}',
    refused: invalid(`expression 'Object{data: {"b": object.data.missing}}' resulted in error: no such key: missing`),
  },
  {
    title: 'a patch is applied',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "add", path: "/data/b", value: "2"}, JSONPatch{op: "remove", path: "/data/a"}]',
    made: {data: {b: '2'}},
  },
  {
    title: 'a patch with a test that holds',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "replace", path: "/data/a", value: "2"}]',
    made: {data: {a: '2'}},
  },
  {
    title: 'a patch with a test that does not hold is left out',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "replace", path: "/data/a", value: "2"}, JSONPatch{op: "test", path: "/data/a", value: "3"}]',
    made: {data: {a: '1'}},
  },
  {
    title: 'a patch may copy and move',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "copy", from: "/data/a", path: "/data/b"}, JSONPatch{op: "move", from: "/data/a", path: "/data/c"}]',
    made: {data: {b: '1', c: '1'}},
  },
  {
    title: 'a patch may escape keys, and set objects',
    patchType: 'JSONPatch',
    expression:
      '[JSONPatch{op: "add", path: "/metadata/annotations", value: {}}, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("example.com/x"), value: "z"}]',
    made: {metadata: {annotations: {'example.com/x': 'z'}}},
  },
  {
    title: 'a patch may write with types',
    patchType: 'JSONPatch',
    expression:
      '[JSONPatch{op: "add", path: "/metadata", value: Object.metadata{name: "c", namespace: "default", labels: {"typed": "yes"}}}]',
    made: {metadata: {name: 'c', labels: {typed: 'yes'}}},
  },
  {
    title: 'a patch that leads nowhere',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "remove", path: "/data/x/y"}]',
    refused: invalid('JSON Patch: remove operation does not apply: doc is missing path: "/data/x/y": missing value'),
  },
  {
    title: 'a patch of no kind',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{path: "/data/x"}]',
    refused: invalid('JSON Patch: Unexpected kind: '),
  },
  {
    title: 'a patch that makes an object with an unknown field',
    patchType: 'JSONPatch',
    expression: '[JSONPatch{op: "add", path: "/extra", value: "x"}]',
    refused: {code: 500, message: 'Internal error occurred: strict decoding error: unknown field "extra"'},
  },
];

for (const {title, made, refused, ...mutation} of mutationCases) {
  test(`${title}${refused ? ' is refused' : ''}`, async t => {
    const env = await startPolicyEnvironment();
    const {expression, ...spec} = mutation;
    await env.mutating([expression], spec);
    const creating = env.configMap('c', {a: '1'}, {labels: {l: 'x'}});

    if (made) t.like(await creating, made);
    else t.like(await refusal(creating), refused!);
  });
}

test('each expression of a mutation reads the result of the one before', async t => {
  const env = await startPolicyEnvironment();
  await env.mutating(['Object{data: {"n": "1"}}', 'Object{data: {"n": object.data.n + "1", "v": string(variables.n)}}'], {
    variables: [{name: 'n', expression: 'object.data.n'}],
  });

  t.deepEqual((await env.configMap('c')).data, {n: '11', v: '1'});
});

test('lists of a configuration are merged by their keys, and those without may not be touched', async t => {
  const pods = {resourceRules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods']}]};
  const pod = {metadata: {name: 'p', namespace: 'default'}, spec: {containers: [{name: 'c', image: 'i'}]}};
  const env = await startPolicyEnvironment();
  await env.mutating(
    [
      'Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", env: [Object.spec.containers.env{name: "A", value: "1"}]}, Object.spec.containers{name: "side", image: "s"}]}}',
    ],
    {matchConstraints: pods},
  );
  t.like((await env.of(kinds.pods).create(pod)).spec, {
    containers: [
      {name: 'c', image: 'i', env: [{name: 'A', value: '1'}]},
      {name: 'side', image: 's', terminationMessagePolicy: 'File'},
    ],
  });

  const other = await startPolicyEnvironment();
  await other.mutating(
    ['Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", args: ["x"]}], nodeSelector: {"a": "b"}}}'],
    {matchConstraints: pods},
  );
  t.like(await refusal(other.of(kinds.pods).create(pod)), {
    message: mutatedBy(
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args, .spec.nodeSelector',
    ),
  });
});

test('errors of a mutation follow the failure policy', async t => {
  const open = {failurePolicy: 'Ignore'};
  const env = await startPolicyEnvironment();
  await env.mutating(['Object{data: {"b": object.data.missing}}', 'Object{data: {"c": "3"}}'], open);
  t.deepEqual((await env.configMap('c', {a: '1'})).data, {a: '1', c: '3'});

  const strict = await startPolicyEnvironment();
  await strict.mutating(
    ['Object{}'],
    {paramKind: {apiVersion: 'v1', kind: 'ConfigMap'}},
    {paramRef: {name: 'missing', parameterNotFoundAction: 'Deny'}},
  );
  t.like(await refusal(strict.configMap('c')), {
    code: 403,
    reason: 'Forbidden',
    message: mutatedBy('failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'),
  });

  const unserved = await startPolicyEnvironment();
  await unserved.mutating(
    ['Object{}'],
    {paramKind: {apiVersion: 'example.com/v1', kind: 'X'}},
    {paramRef: {name: 'x', parameterNotFoundAction: 'Allow'}},
  );
  t.is(
    (await refusal(unserved.configMap('c'))).message,
    `policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=X'`,
  );
});

test('a mutation may use parameters, conditions, the namespace and the authorizer', async t => {
  const env = await startPolicyEnvironment({
    authorizer: {authorize: ({verb}) => Promise.resolve({decision: verb === 'get' ? 'allow' : 'deny'})},
  });
  await env.of(kinds.configMaps).create({metadata: {name: 'extra', namespace: 'default'}, data: {value: 'from the parameter'}});
  await env.mutating(
    [
      'Object{data: {"param": string(params.data.value), "namespace": namespaceObject.metadata.name, "get": string(authorizer.requestResource.check("get").allowed()), "delete": string(authorizer.requestResource.check("delete").allowed())}}',
    ],
    {paramKind: {apiVersion: 'v1', kind: 'ConfigMap'}, matchConditions: [{name: 'c', expression: 'object.metadata.name != "exempt"'}]},
    {paramRef: {name: 'extra', parameterNotFoundAction: 'Deny'}},
  );

  t.deepEqual((await env.configMap('c')).data, {param: 'from the parameter', namespace: 'default', get: 'true', delete: 'false'});
  t.is((await env.configMap('exempt')).data, undefined);
});

for (const [reinvocationPolicy, count] of [
  ['Never', '1'],
  ['IfNeeded', '11'],
] as const) {
  test(`a policy with reinvocation ${reinvocationPolicy} reads changes of later plugins`, async t => {
    const env = await startPolicyEnvironment();
    // The first counts its calls; the one after it changes the object.
    await env.mutating(
      ['Object{data: {"count": (has(object.data) && has(object.data.count) ? object.data.count : "") + "1"}}'],
      {reinvocationPolicy},
      null,
      'a',
    );
    await env.mutating(['Object{data: {"later": "yes"}}'], {}, null, 'z');
    await env.bindMutating('a', {policyName: 'a'});
    await env.bindMutating('z', {policyName: 'z'});

    t.deepEqual((await env.configMap('c')).data, {count, later: 'yes'});
  });
}

test('mutations and their errors are counted', async t => {
  const env = await startPolicyEnvironment();
  await env.mutating(['Object{data: {"b": "2"}}', 'Object{data: {"c": object.data.missing}}'], {failurePolicy: 'Ignore'});
  await env.configMap('c');

  t.deepEqual((await env.metricLines('apiserver_mutating_admission_policy_check_total')).sort(), [
    'apiserver_mutating_admission_policy_check_total{policy="p",policy_binding="b",error_type="invalid_error"} 1',
    'apiserver_mutating_admission_policy_check_total{policy="p",policy_binding="b",error_type="no_error"} 1',
  ]);
});

test('objects are mutated in the version that the policy matches and stored in their own; deleted ones are not mutated', async t => {
  const env = await startPolicyEnvironment();
  await env.mutating(['Object{spec: Object.spec{targetCPUUtilizationPercentage: 55}}'], {
    matchConstraints: {
      resourceRules: [{operations: ['*'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers']}],
    },
  });
  const made = await env.of(kinds.horizontalPodAutoscalers).create({
    metadata: {name: 'a', namespace: 'default'},
    spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'}},
  });

  t.like(made, {
    apiVersion: 'autoscaling/v2',
    spec: {metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 55}}}]},
  });
  await t.notThrowsAsync(env.of(kinds.horizontalPodAutoscalers).delete('a', {namespace: 'default'}));
});
