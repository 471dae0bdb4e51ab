import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from '#test/controllers/plane.js';

/** One plane for all. Each test has a namespace of its own, by whose labels its policies are held to it. */
const plane = await aPlane({
  naming: 'kubernetes',
  controllers: ['validatingadmissionpolicy-status-controller'],
  apiserverArgs: [
    '--feature-gates=MutatingAdmissionPolicy=true',
    '--runtime-config=admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true',
  ],
});
test.after.always(() => plane.stop());
const {get, post, put, patch, remove, watch} = wire(plane.api.handler);

const group = '/apis/admissionregistration.k8s.io';
const policies = `${group}/v1/validatingadmissionpolicies`;
const bindings = `${group}/v1/validatingadmissionpolicybindings`;
const mutatingPolicies = `${group}/v1beta1/mutatingadmissionpolicies`;
const mutatingBindings = `${group}/v1beta1/mutatingadmissionpolicybindings`;

const made = async (path: string, body: object) => {
  const answer = await post(path, body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.json<KubeObject & {status?: Record<string, unknown>; spec: Record<string, unknown>}>();
};

const rules = (apiGroup: string, apiVersion: string, resource: string) => ({
  resourceRules: [{apiGroups: [apiGroup], apiVersions: [apiVersion], operations: ['CREATE', 'UPDATE'], resources: [resource]}],
});

let count = 0;
const begin = async () => {
  const namespace = `policies-${count++}`;
  await made('/api/v1/namespaces', {metadata: {name: namespace, labels: {policies: namespace}}});
  const within = (spec: object) => ({
    policyName: namespace,
    matchResources: {namespaceSelector: {matchLabels: {policies: namespace}}},
    ...spec,
  });
  return {
    namespace,
    /** Puts a policy into force in this namespace alone. */
    async validating(spec: object, binding: object = {}) {
      await made(policies, {metadata: {name: namespace}, spec});
      await made(bindings, {metadata: {name: namespace}, spec: within({validationActions: ['Deny'], ...binding})});
    },
    async mutating(spec: object, binding: object = {}) {
      await made(mutatingPolicies, {metadata: {name: namespace}, spec: {reinvocationPolicy: 'Never', ...spec}});
      await made(mutatingBindings, {metadata: {name: namespace}, spec: within(binding)});
    },
  };
};

const deployment = (name: string, replicas: number) => ({
  metadata: {name},
  spec: {
    replicas,
    selector: {matchLabels: {app: name}},
    template: {metadata: {labels: {app: name}}, spec: {containers: [{name: 'c', image: 'i'}]}},
  },
});

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: {type: 'integer'},
        text: {type: 'string', default: 'none'},
        tags: {type: 'array', items: {type: 'string'}},
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {type: 'object', required: ['name'], properties: {name: {type: 'string'}, port: {type: 'integer'}}},
        },
      },
    },
  },
};

/** Defines things in a group. */
const define = async (apiGroup: string, scope = 'Namespaced') => {
  const versions = ['v1', 'v2'].map(name => ({name, served: true, storage: name === 'v1', schema: {openAPIV3Schema: schema}}));
  await made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: {name: `things.${apiGroup}`},
    spec: {group: apiGroup, scope, names: {plural: 'things', kind: 'Thing'}, versions},
  });
  await plane.clock.drain();
};

test('deployments are held against a policy, and against one with variables and parameters', async t => {
  const {namespace, validating} = await begin();
  await validating({
    matchConstraints: rules('apps', 'v1', 'deployments'),
    variables: [
      {name: 'replicas', expression: 'object.spec.replicas'},
      {name: 'odd', expression: 'variables.replicas % 2 == 1'},
    ],
    validations: [
      {expression: 'variables.replicas > 1', messageExpression: "'wants replicas > 1, got ' + string(variables.replicas)"},
      {expression: 'variables.odd', reason: 'Forbidden'},
    ],
  });
  const place = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const refused = await post(place, deployment('one', 1));

  t.is(refused.status, 422);
  t.is(
    refused.json<Status>().message,
    `deployments.apps "one" is forbidden: ValidatingAdmissionPolicy '${namespace}' with binding '${namespace}' denied request: wants replicas > 1, got 1`,
  );
  t.is((await post(place, deployment('two', 2))).status, 403);
  t.is((await post(place, deployment('three', 3))).status, 201);
  t.is((await patch(`${place}/three`, {spec: {replicas: 1}})).status, 422);
  t.is((await post('/apis/apps/v1/namespaces/default/deployments', deployment('one', 1))).status, 201);
});

test('policies match custom resources in the requested version, and use them as parameters', async t => {
  const apiGroup = 'validated.example.com';
  await define(apiGroup);
  const {namespace, validating} = await begin();
  const things = `/apis/${apiGroup}/v2/namespaces/${namespace}/things`;
  await made(things, {apiVersion: `${apiGroup}/v2`, kind: 'Thing', metadata: {name: 'limit'}, spec: {replicas: 2}});
  await validating(
    {
      matchConstraints: rules(apiGroup, 'v1', 'things'),
      paramKind: {apiVersion: `${apiGroup}/v1`, kind: 'Thing'},
      validations: [
        {
          expression:
            'object.apiVersion.endsWith("/v1") && params.apiVersion.endsWith("/v1") && object.spec.replicas <= params.spec.replicas && object.spec.text == "none"',
        },
      ],
    },
    {paramRef: {name: 'limit', parameterNotFoundAction: 'Deny'}},
  );
  const thing = (name: string, replicas: number) => ({apiVersion: `${apiGroup}/v2`, kind: 'Thing', metadata: {name}, spec: {replicas}});

  t.is((await post(things, thing('small', 2))).status, 201);
  t.is((await post(things, thing('large', 3))).status, 422);
  // A parameter counts as it is now.
  await remove(`${things}/limit`);
  t.regex(
    (await post(things, thing('small', 1))).json<Status>().message!,
    /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
  );
});

test('custom resources are changed by their schemas', async t => {
  const apiGroup = 'changed.example.com';
  await define(apiGroup);
  const {namespace, mutating} = await begin();
  const things = `/apis/${apiGroup}/v1/namespaces/${namespace}/things`;
  const thing = (name: string, spec: object) => ({apiVersion: `${apiGroup}/v1`, kind: 'Thing', metadata: {name}, spec});
  await mutating({
    matchConstraints: rules(apiGroup, 'v1', 'things'),
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: 'Object{spec: Object.spec{replicas: object.spec.replicas + 1, ports: [Object.spec.ports{name: "b", port: 2}]}}',
        },
      },
      {patchType: 'JSONPatch', jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/unknown", value: 1}]'}},
    ],
  });

  const answer = await post(things, thing('t', {replicas: 1, ports: [{name: 'a', port: 1}]}));
  t.is(answer.status, 201, answer.text);
  t.deepEqual(answer.json<{spec?: object}>().spec, {
    replicas: 2,
    text: 'none',
    ports: [
      {name: 'a', port: 1},
      {name: 'b', port: 2},
    ],
  });
  await patch(`${mutatingPolicies}/${namespace}`, {
    spec: {mutations: [{patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Object{spec: Object.spec{tags: ["x"]}}'}}]},
  });
  t.regex(
    (await post(things, thing('u', {replicas: 1}))).json<Status>().message!,
    /may not mutate atomic arrays, maps or structs: \.spec\.tags$/,
  );
});

test('a deployment is changed by a mutating policy before validating ones see it; the policy is served in both versions', async t => {
  const {namespace, mutating, validating} = await begin();
  await mutating({
    matchConstraints: rules('apps', 'v1', 'deployments'),
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: 'Object{metadata: Object.metadata{labels: {"stamp": "x"}}, spec: Object.spec{replicas: object.spec.replicas + 2}}',
        },
      },
    ],
  });
  await validating({
    matchConstraints: rules('apps', 'v1', 'deployments'),
    validations: [{expression: 'object.metadata.labels.stamp == "x" && object.spec.replicas == 3'}],
  });
  const place = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const answer = await post(place, deployment('one', 1));

  t.is(answer.status, 201, answer.text);
  t.like(answer.json(), {metadata: {labels: {stamp: 'x'}}, spec: {replicas: 3}});
  t.is((await post(place, deployment('two', 2))).status, 422);
  t.is((await get(`${group}/v1alpha1/mutatingadmissionpolicies/${namespace}`)).json().apiVersion, 'admissionregistration.k8s.io/v1alpha1');
});

test('the types of a policy are checked, also against custom resources', async t => {
  const apiGroup = 'checked.example.com';
  await define(apiGroup);
  await plane.clock.advance(10_000);
  await made(policies, {
    metadata: {name: 'typed'},
    spec: {
      matchConstraints: rules('apps', 'v1', 'deployments'),
      validations: [{expression: 'object.spec.replicas > 1'}, {expression: 'object.spec.replicas > "1"'}],
    },
  });
  await made(policies, {
    metadata: {name: 'custom'},
    spec: {
      matchConstraints: rules(apiGroup, 'v1', 'things'),
      validations: [
        {expression: 'object.spec.replicas > "1"'},
        {expression: 'object.spec.text == "a" && object.metadata.labels["a"] == "b"'},
      ],
    },
  });
  await plane.clock.drain();

  for (const [name, field, kind] of [
    ['typed', 'spec.validations[1].expression', 'apps/v1, Kind=Deployment'],
    ['custom', 'spec.validations[0].expression', `${apiGroup}/v1, Kind=Thing`],
  ] as const) {
    const {status} = (await get(`${policies}/${name}`)).json<{
      status: {observedGeneration: number; typeChecking: {expressionWarnings: {fieldRef: string; warning: string}[]}};
    }>();
    t.is(status.observedGeneration, 1);
    t.deepEqual(
      status.typeChecking.expressionWarnings.map(({fieldRef, warning}) => [fieldRef, warning.split(': ERROR')[0]]),
      [[field, kind]],
    );
  }
});

for (const [kind, place, spec] of [
  ['policies', policies, {matchConstraints: rules('', 'v1', 'nothings'), validations: [{expression: 'true'}]}],
  ['bindings', bindings, {policyName: 'missing', validationActions: ['Deny']}],
  [
    'mutating policies',
    mutatingPolicies,
    {
      matchConstraints: rules('', 'v1', 'nothings'),
      reinvocationPolicy: 'Never',
      mutations: [{patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Object{}'}}],
    },
  ],
  ['mutating bindings', mutatingBindings, {policyName: 'missing'}],
] as const) {
  test(`${kind} go through every operation, each seen by a watch`, async t => {
    const label = kind.replace(' ', '-');
    const object = (name: string) => ({metadata: {name: `${label}-${name}`, labels: {of: label}}, spec});
    using seen = await watch(`${place}?watch=true&labelSelector=of%3D${label}`);
    for (const name of ['one', 'two', 'three']) await made(place, object(name));
    const address = `${place}/${label}-one`;
    const names = async () =>
      (await get(`${place}?labelSelector=of%3D${label}`)).json<{items: KubeObject[]}>().items.map(({metadata}) => metadata?.name);

    t.deepEqual(
      await names(),
      ['one', 'three', 'two'].map(name => `${label}-${name}`),
    );
    t.is((await patch(address, {metadata: {annotations: {patched: 'true'}}})).json().metadata?.annotations?.['patched'], 'true');
    const current = (await get(address)).json();
    const updated = await put(address, {...current, metadata: {...current.metadata, annotations: {updated: 'true'}}});
    t.is(updated.json().metadata?.annotations?.['updated'], 'true');
    if (kind === 'policies') {
      const condition = {type: 'Seen', status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z'};
      t.is((await patch(`${address}/status`, {status: {conditions: [condition]}})).status, 200);
      const {status, ...rest} = (await get(`${address}/status`)).json<KubeObject & {status: {conditions: object[]}}>();
      t.deepEqual(status.conditions, [condition]);
      t.is((await put(`${address}/status`, {...rest, status: {conditions: [{...condition, type: 'Other'}]}})).status, 200);
    }
    t.is((await remove(address)).status, 200);
    t.is((await remove(`${place}?labelSelector=of%3D${label}`)).status, 200);
    t.deepEqual(await names(), []);
    await plane.clock.drain();
    t.true(['ADDED', 'MODIFIED', 'DELETED'].every(type => seen.events.some(event => event.type === type)));
  });
}

test('discovery lists policies and bindings', async t => {
  const names = async (version: string) =>
    (await get(`${group}/${version}`)).json<{resources: {name: string}[]}>().resources.map(({name}) => name);

  for (const name of ['validatingadmissionpolicies', 'validatingadmissionpolicies/status', 'validatingadmissionpolicybindings'])
    t.true((await names('v1')).includes(name));
  for (const version of ['v1beta1', 'v1alpha1'])
    for (const name of ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']) t.true((await names(version)).includes(name));
});
