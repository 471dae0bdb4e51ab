import test from 'ava';
import {aDefinition, aVersion, aWidget, definitions, startCustom, widgets} from './custom.js';
import {configMaps, startWire} from './wire.js';

const world = await startWire();
const {send, post} = world;
const policies = '/apis/networking.plat.io/v1/namespaces/default/networkpolicies';

interface Made {
  readonly metadata: {readonly generation: number; readonly labels?: object; readonly managedFields?: object};
  readonly spec: Record<string, unknown>;
}

const merge = {headers: {'content-type': 'application/merge-patch+json'}};
const causes = (text: string): string[] =>
  ((JSON.parse(text) as {details?: {causes?: {field: string}[]}}).details?.causes ?? []).map(({field}) => field);

test('a policy that gets an empty part counts as changed, and one whose metadata does not', async t => {
  const policy = {
    apiVersion: 'networking.plat.io/v1',
    kind: 'NetworkPolicy',
    metadata: {name: 'p'},
    spec: {podSelector: {}, policyTypes: ['Ingress']},
  };
  await post(policies, policy);
  const put = async (more: object, metadata: object = {}) => {
    const {metadata: meta, spec} = (
      await send('PUT', `${policies}/p?dryRun=All`, {
        body: {...policy, metadata: {...policy.metadata, ...metadata}, spec: {...policy.spec, ...more}},
      })
    ).json<Made>();
    return [meta.generation, Object.keys(spec)];
  };

  t.deepEqual(await put({}), [1, ['podSelector', 'policyTypes']]);
  t.deepEqual(await put({}, {labels: {}}), [1, ['podSelector', 'policyTypes']]);
  t.deepEqual(await put({policyTypes: []}), [1, ['podSelector', 'policyTypes']]);
  t.deepEqual(await put({ingress: []}), [2, ['podSelector', 'policyTypes']]);
  t.deepEqual(await put({podSelector: {matchLabels: {}}}), [2, ['podSelector', 'policyTypes']]);
  const {metadata} = (await world.patch(`${policies}/p?dryRun=All`, {spec: {egress: []}}, merge)).json<Made>();
  t.is(metadata.generation, 2);
});

test('a template may not even say that claims have no finalizers', async t => {
  const template = (metadata: object) => ({
    apiVersion: 'resource.plat.io/v1',
    kind: 'ResourceClaimTemplate',
    metadata: {name: 't'},
    spec: {metadata, spec: {}},
  });
  const url = '/apis/resource.plat.io/v1/namespaces/default/resourceclaimtemplates?dryRun=All';

  t.deepEqual(causes((await post(url, template({finalizers: [], ownerReferences: []}))).text), [
    'spec.metadata.ownerReferences',
    'spec.metadata.finalizers',
  ]);
  t.is((await post(url, template({labels: {}, annotations: {}}))).status, 201);
});

test('null as bytes in a map is empty', async t => {
  const made = await post(`${configMaps}?dryRun=All`, {metadata: {name: 'm'}, binaryData: {k: null}, data: {t: null}});

  t.like(made.json(), {binaryData: {k: ''}, data: {t: ''}});
});

test('an empty list of owners in an object within another is none', async t => {
  const spec = {containers: [{name: 'c', image: 'i'}]};
  const made = await post('/api/v1/namespaces/default/replicationcontrollers', {
    metadata: {name: 'r'},
    spec: {selector: {a: 'b'}, template: {metadata: {labels: {a: 'b'}, managedFields: []}, spec}},
  });

  t.deepEqual(made.json<Made>().spec['template'] && Object.keys((made.json<Made>().spec['template'] as {metadata: object}).metadata), [
    'labels',
  ]);
});

test('a job whose name is made by the server has the labels of its template as they were given', async t => {
  const job = (metadata: object) => ({
    metadata,
    spec: {template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}], restartPolicy: 'Never'}}},
  });
  const labels = async (metadata: object) =>
    Object.keys((await post('/apis/batch/v1/namespaces/default/jobs?dryRun=All', job(metadata))).json<Made>().metadata.labels ?? {}).length;

  t.is(await labels({generateName: 'j-'}), 1);
  t.is(await labels({name: 'j'}), 5);
});

test('amounts of a runtime class are kept as fine as they are', async t => {
  const made = await post('/apis/node.plat.io/v1/runtimeclasses?dryRun=All', {
    metadata: {name: 'c'},
    handler: 'h',
    overhead: {podFixed: {cpu: '0.0000001'}},
  });

  t.like(made.json(), {overhead: {podFixed: {cpu: '100n'}}});
});

test('what is created in a namespace without a name is refused for that', async t => {
  const {status, text} = await send('POST', '/api/v1/namespaces//configmaps', {body: {metadata: {name: 'a'}}});

  t.deepEqual([status, causes(text)], [422, ['metadata.namespace']]);
});

const root = (schema: object, subresources: object = {status: {}}) =>
  aDefinition([{...aVersion(), schema: {openAPIV3Schema: {type: 'object', ...schema}}, subresources}]);

for (const field of [
  'allOf',
  'anyOf',
  'oneOf',
  'enum',
  'definitions',
  'patternProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
]) {
  test(`beside a status that is written apart ${field} may not stand at the root of a schema, not even empty`, async t => {
    const empty = field.startsWith('x-') ? '' : field.endsWith('s') ? {} : [];
    const refused = await post(`${definitions}?dryRun=All`, root({[field]: empty}));
    const shown = JSON.parse(refused.text) as {details: {causes: {field: string; message: string}[]}};

    t.is(refused.status, 422);
    t.true(
      shown.details.causes.some(
        cause =>
          cause.field === 'spec.validation.openAPIV3Schema' && cause.message.includes('fields are allowed at the root of the schema'),
      ),
    );
    if (!field.startsWith('x-')) {
      const apart = await post(`${definitions}?dryRun=All`, root({[field]: empty}, {}));
      t.is(apart.status, 201, apart.text);
      t.is((await post(`${definitions}?dryRun=All`, root({properties: {p: {type: 'string', [field]: empty}}}))).status, 201);
    }
  });
}

test('a schema in which no items were read counts as changed', async t => {
  using custom = await startCustom();
  await custom.define();
  const stored = (await custom.get(`${definitions}/widgets.example.com`)).json<Made>();
  const [version] = stored.spec['versions'] as {schema: {openAPIV3Schema: object}}[];
  const versions = [{...version, schema: {openAPIV3Schema: {...version!.schema.openAPIV3Schema, items: 1}}}];
  const put = await custom.send('PUT', `${definitions}/widgets.example.com?dryRun=All`, {
    body: {...stored, spec: {...stored.spec, versions}},
  });

  t.is(put.json<Made>().metadata.generation, 2, put.text);
});

test('rules are validated along with the rest of a definition, but not where their schema is invalid', async t => {
  const ruled = (spec: object, more: object = {}) =>
    aDefinition([aVersion({spec: {...spec, 'x-kubernetes-validations': [{rule: 'self.gone'}]}, ...more})]);
  const rule = 'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule';
  const found = async (definition: object) => causes((await post(`${definitions}?dryRun=All`, definition)).text);

  t.deepEqual(await found(ruled({}, {selectableFields: [{jsonPath: '.spec.gone'}]})), [rule, 'spec.selectableFields[0].jsonPath']);
  t.deepEqual(await found(ruled({uniqueItems: true})), ['spec.validation.openAPIV3Schema.properties[spec].uniqueItems']);
});

test('a part of a custom resource that has no fields keeps none', async t => {
  const made = await post(`${definitions}?dryRun=All`, aDefinition([aVersion({subresources: {status: {odd: 1}}})]));

  t.like(made.json(), {spec: {versions: [{subresources: {status: {}}}]}});
  t.deepEqual((made.json<Made>().spec['versions'] as {subresources: {status: object}}[])[0]!.subresources.status, {});
});

test('applied nulls of a custom resource are validated, and path segments after its status are ignored', async t => {
  using custom = await startCustom();
  await custom.define(
    aDefinition([
      aVersion({
        spec: {
          properties: {
            set: {type: 'array', items: {type: 'string'}, 'x-kubernetes-list-type': 'set'},
            nul: {type: 'string', nullable: true},
          },
        },
        subresources: {status: {}},
      }),
    ]),
  );
  await custom.post(widgets, aWidget('a', {set: null}));
  const applied = await custom.send('PATCH', `${widgets}/a?fieldManager=m`, {
    body: aWidget('a', {set: null, nul: null}),
    headers: {'content-type': 'application/apply-patch+yaml'},
  });

  t.deepEqual([applied.status, causes(applied.text)[0]], [422, 'spec.set']);
  t.is((await custom.get(`${widgets}/a/status/x`)).status, 200);
  t.is((await custom.get(`${widgets}/a/nothing/x`)).status, 404);
});

test('a dry run through another version is shown as what is stored would be', async t => {
  using custom = await startCustom();
  await custom.define(
    aDefinition([
      aVersion({spec: {properties: {a: {type: 'string', default: 'x'}}}}),
      {...aVersion({name: 'v2', spec: {properties: {b: {type: 'string'}}, 'x-kubernetes-preserve-unknown-fields': true}}), storage: false},
    ]),
  );
  const dry = await custom.post('/apis/example.com/v2/namespaces/default/widgets?dryRun=All', {
    ...aWidget('a', {b: 'y'}),
    apiVersion: 'example.com/v2',
  });

  t.deepEqual([dry.status, dry.json<Made>().spec], [201, {a: 'x'}], dry.text);
});

test('whole numbers that are very large are taken in a schema', async t => {
  const huge = '9223372036854775807';
  const text = JSON.stringify(
    aDefinition([
      aVersion({spec: {properties: {n: {type: 'integer', maximum: 1, default: 2, enum: [3]}, s: {type: 'string', maxLength: 4}}}}),
    ]),
  );
  for (const [digit, field] of [
    ['1', '"maximum":'],
    ['4', '"maxLength":'],
    ['3', '"enum":['],
  ] as const) {
    const body = text
      .replace(`${field}${digit}`, `${field}${huge}`)
      .replace('"default":2', `"default":${field === '"enum":[' ? huge : 1}`)
      .replace(field === '"enum":[' ? '"maximum":1,' : ',"enum":[3]', '');
    const made = await send('POST', `${definitions}?dryRun=All`, {body});
    t.true(made.status === 201 || made.status === 422, made.text);
    t.false(made.text.includes('BigInt'), made.text);
  }
});

const patchTypes = {
  'application/merge-patch+json': (part: object) => part,
  'application/strategic-merge-patch+json': (part: object) => part,
  'application/json-patch+json': (part: object) =>
    Object.entries(part).flatMap(([key, fields]) =>
      Object.entries(fields as object).map(([field, value]) => ({op: 'add', path: `/${key}/${field}`, value: value as unknown})),
    ),
} as const;

/** Returns what a patch of each type leaves of the named part of an object. */
const afterPatches = async (url: string, part: object, view: (object: Made) => unknown): Promise<unknown[]> => {
  const views: unknown[] = [];
  for (const [type, body] of Object.entries(patchTypes)) {
    views.push(view((await world.patch(`${url}?dryRun=All`, body(part), {headers: {'content-type': type}})).json<Made>()));
  }
  return views;
};

test('a patch leaves the nulls of lists that it does not touch', async t => {
  const ingresses = '/apis/networking.plat.io/v1/namespaces/default/ingresses';
  const backend = {resource: {kind: 'Bucket', name: 'b'}};
  const paths = [{path: '/', pathType: 'Prefix', backend}];
  const made = (await post(ingresses, {metadata: {name: 'i'}, spec: {rules: [{http: {paths}}]}})).json<Made>();
  t.like(made.spec, {rules: [{http: {paths: [{backend: {resource: {apiGroup: null}}}]}}]});
  const left = ({metadata: {generation}, spec}: Made) => ({generation, spec});

  for (const seen of await afterPatches(`${ingresses}/i`, {metadata: {labels: {a: 'b'}}}, left)) t.deepEqual(seen, left(made));
});

test('a patch of a status leaves the nulls of the conditions that it does not touch', async t => {
  const pods = '/api/v1/namespaces/default/pods';
  await post(pods, {metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  await send('PATCH', `${pods}/p/status`, {...merge, body: {status: {phase: 'Pending', conditions: [{type: 'Ready', status: 'True'}]}}});
  const conditions = ({status}: {status?: {conditions?: unknown}}) => status?.conditions;

  for (const seen of await afterPatches(`${pods}/p/status`, {status: {phase: 'Pending', message: 'm'}}, object =>
    conditions(object as object),
  )) {
    t.deepEqual(seen, [{type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null}]);
  }
});

test('a patch leaves the nulls of data without a schema', async t => {
  const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const data = {a: null, b: [{c: null}]};
  await post(revisions, {metadata: {name: 'r'}, revision: 1, data});
  const {data: read} = (await send('GET', `${revisions}/r`)).json() as {data: unknown};
  const left = (object: object) => (object as {data?: unknown}).data;

  t.deepEqual(read, data);
  for (const seen of await afterPatches(`${revisions}/r`, {metadata: {labels: {a: 'b'}}}, left)) t.deepEqual(seen, data);
});

const hook = {
  name: 'h.example.com',
  clientConfig: {url: 'https://example.com'},
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
};

for (const kind of ['Mutating', 'Validating']) {
  test(`empty lists in webhooks of ${kind}WebhookConfigurations count as changes`, async t => {
    const url = `/apis/admissionregistration.plat.io/v1/${kind.toLowerCase()}webhookconfigurations`;
    const made = (await post(url, {metadata: {name: 'c'}, webhooks: [hook]})).json<{webhooks: object[]} & Made>();
    const put = async (more: object) =>
      (await send('PUT', `${url}/c?dryRun=All`, {body: {...made, webhooks: [{...made.webhooks[0], ...more}]}})).json<Made>().metadata
        .generation;

    t.is(await put({}), 1);
    for (const more of [{rules: []}, {matchConditions: []}, {objectSelector: {matchLabels: {}}}]) t.is(await put(more), 2);
  });
}

test('empty parameters of a storage class and empty data of an immutable object are changes that are refused', async t => {
  const classes = '/apis/storage.plat.io/v1/storageclasses';
  const made = (await post(classes, {metadata: {name: 's'}, provisioner: 'example.com/p'})).json<Made>();
  const refused = async (url: string, body: object) => causes((await send('PUT', url, {body})).text);

  t.deepEqual(await refused(`${classes}/s`, {...made, parameters: {}}), ['parameters']);
  const secrets = '/api/v1/namespaces/default/secrets';
  for (const url of [configMaps, secrets]) {
    await post(url, {metadata: {name: 'immutable'}, immutable: true});
    t.deepEqual(await refused(`${url}/immutable`, {metadata: {name: 'immutable'}, immutable: true, data: {}}), ['data']);
  }
  t.deepEqual(await refused(`${configMaps}/immutable`, {metadata: {name: 'immutable'}, immutable: true, binaryData: {}}), ['binaryData']);
});

test('a limit range without amounts has no defaults', async t => {
  const url = '/api/v1/namespaces/default/limitranges?dryRun=All';
  const limits = async (limit: object) =>
    (await post(url, {metadata: {name: 'l'}, spec: {limits: [{type: 'Container', ...limit}]}})).json<Made>().spec['limits'];

  t.deepEqual(await limits({}), [{type: 'Container'}]);
  t.deepEqual(await limits({min: {cpu: '1'}}), [{type: 'Container', min: {cpu: '1'}, defaultRequest: {cpu: '1'}}]);
});

test('empty claims of a whole pod are refused', async t => {
  const {post} = await startWire({gate: name => name === 'PodLevelResources'});
  const pods = '/api/v1/namespaces/default/pods?dryRun=All';
  const made = (spec: object) => post(pods, {metadata: {name: 'e'}, spec: {containers: [{name: 'c', image: 'i'}], ...spec}});

  t.deepEqual(causes((await made({resources: {claims: []}})).text), ['spec.resources.claims']);
  t.is((await made({resources: {limits: {}}})).status, 201);
});

test('claims without a spec have the list of requests that is shown as null', async t => {
  const group = '/apis/resource.plat.io/v1/namespaces/default';
  const spec = async (kind: string) => (await post(`${group}/${kind}?dryRun=All`, {metadata: {name: 'c'}})).json<Made>().spec;

  t.deepEqual(await spec('resourceclaims'), {devices: {requests: null}});
  t.deepEqual(await spec('resourceclaimtemplates'), {metadata: {}, spec: {devices: {requests: null}}});
});

test('refusals show what became empty as empty', async t => {
  const classes = '/apis/networking.plat.io/v1/ingressclasses';
  await post(classes, {metadata: {name: 'i'}, spec: {controller: 'example.com/c'}});
  t.regex((await world.patch(`${classes}/i`, {spec: null})).text, /spec\.controller: Invalid value: \\"\\": field is immutable/);

  const sets = '/apis/apps/v1/namespaces/default/replicasets';
  const template = {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}};
  await post(sets, {metadata: {name: 'r'}, spec: {selector: {matchLabels: {a: 'b'}}, template}});
  const shown = async (metadata: unknown) =>
    /metadata\.labels: Invalid value: (\S+):/.exec((await world.patch(`${sets}/r`, {spec: {template: {metadata}}})).text)?.[1];
  t.is(await shown({labels: {a: null}}), '{}');
  t.is(await shown({labels: null}), 'null');
});

test('empty lists in a container to debug with are refused where it cannot have any', async t => {
  const pods = '/api/v1/namespaces/default/pods';
  await post(pods, {metadata: {name: 'debugged'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  const fields = async (more: object) => {
    const body = {spec: {ephemeralContainers: [{name: 'e', image: 'i', ...more}]}};
    const {text} = await send('PATCH', `${pods}/debugged/ephemeralcontainers?dryRun=All`, {...merge, body});
    return causes(text).map(field => field.replace('spec.ephemeralContainers[0].', ''));
  };

  t.deepEqual(await fields({ports: [], resizePolicy: [], restartPolicyRules: []}), ['ports', 'resizePolicy', 'restartPolicyRules']);
  t.deepEqual(await fields({resources: {claims: []}}), ['resources']);
  t.deepEqual(await fields({resources: {}, env: [], args: []}), []);
});
