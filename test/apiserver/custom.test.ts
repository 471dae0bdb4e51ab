import test from 'ava';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {aDefinition, aVersion, aWidget, definitions, startCustom, widgets, type VersionSketch} from './custom.js';

const sized: VersionSketch = {
  spec: {
    required: ['size'],
    properties: {
      size: {type: 'integer', minimum: 1},
      color: {type: 'string', default: 'red'},
      replicas: {type: 'integer'},
      ports: {
        type: 'array',
        items: {type: 'object', required: ['name'], properties: {name: {type: 'string'}, port: {type: 'integer'}}},
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    },
  },
};

test('a custom resource is there as soon as its definition is established, and gone with it', async t => {
  using env = await startCustom();
  t.is((await env.get(widgets)).status, 404);
  await env.define();
  t.is((await env.get(widgets)).status, 200);
  t.deepEqual(
    (await env.get('/apis/example.com/v1')).json<{resources: {name: string; verbs: string[]; storageVersionHash: string}[]}>().resources,
    [
      {
        name: 'widgets',
        singularName: 'widget',
        namespaced: true,
        kind: 'Widget',
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
        storageVersionHash: 'gIwvi5rymmg=',
      } as never,
    ],
  );
  using stream = await env.watch(`${widgets}?watch=1`);

  await env.post(widgets, aWidget('a'));
  await env.remove(`${definitions}/widgets.example.com`);
  await env.clock.advance(10_000);

  t.is((await env.get(widgets)).status, 404);
  t.is((await env.get('/apis/example.com')).status, 404);
  t.true(stream.ended);
});

test('objects go with their definition even when no version of them is served any more, and those that are held stay until they are let go', async t => {
  using env = await startCustom();
  await env.define();
  for (const [namespace, finalizers] of [
    ['default', []],
    ['other', ['example.com/held']],
  ] as const) {
    const made = await env.post(`/apis/example.com/v1/namespaces/${namespace}/widgets`, {
      ...aWidget('a'),
      metadata: {name: 'a', finalizers},
    });
    t.is(made.status, 201, made.text);
  }
  await env.redefine(aDefinition([aVersion({served: false})]));
  t.is((await env.get(widgets)).status, 404);
  await env.remove(`${definitions}/widgets.example.com`);
  await env.clock.advance(4_000);

  const stored = async () =>
    (await env.store.range({start: '/registry/example.com/', end: '/registry/example.com0'})).records.map(({key}) => key);
  t.deepEqual(await stored(), ['/registry/example.com/widgets/other/a']);
  await env.redefine(aDefinition());
  const freed = await env.patch(
    '/apis/example.com/v1/namespaces/other/widgets/a',
    {metadata: {finalizers: null}},
    {headers: {'content-type': 'application/merge-patch+json'}},
  );
  t.is(freed.status, 200, freed.text);
  await env.clock.advance(70_000);
  t.deepEqual(await stored(), []);
  t.is((await env.get(`${definitions}/widgets.example.com`)).status, 404);
});

test('a body is pruned, defaulted, and validated by its schema', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion(sized)]));

  const made = await env.post(widgets, aWidget('a', {size: 2, odd: 1}));
  t.is(made.status, 201);
  t.deepEqual(made.json<{spec: object}>().spec, {size: 2, color: 'red'});
  t.regex(String(made.header('warning')), /unknown field \\"spec.odd\\"/);

  const strict = await env.post(`${widgets}?fieldValidation=Strict`, aWidget('b', {size: 2, odd: 1}));
  t.is(strict.status, 400);
  t.regex(strict.text, /strict decoding error: unknown field \\"spec.odd\\"/);

  const wrong = await env.post(widgets, aWidget('b', {size: 'big'}));
  t.is(wrong.status, 422);
  t.regex(
    wrong.json<{message: string}>().message,
    /^Widget\.example\.com "b" is invalid: spec\.size: Invalid value: "string": spec\.size in body must be of type integer: "string"$/,
  );
});

test('lists show whole items, tables the columns of the definition, and fields select', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({
        ...sized,
        selectableFields: [{jsonPath: '.spec.color'}],
        additionalPrinterColumns: [{name: 'Size', type: 'integer', jsonPath: '.spec.size'}],
      }),
    ]),
  );
  await env.post(widgets, aWidget('a', {size: 2}));
  await env.post(widgets, aWidget('b', {size: 3, color: 'blue'}));

  const {kind, items} = (await env.get(widgets)).json<{kind: string; items: {kind: string; apiVersion: string}[]}>();
  t.is(kind, 'WidgetList');
  t.deepEqual(
    items.map(item => [item.kind, item.apiVersion]),
    [
      ['Widget', 'example.com/v1'],
      ['Widget', 'example.com/v1'],
    ],
  );
  const table = (
    await env.get(`${widgets}?fieldSelector=spec.color=blue`, {headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}})
  ).json<{columnDefinitions: {name: string}[]; rows: {cells: unknown[]}[]}>();
  t.deepEqual(
    table.columnDefinitions.map(({name}) => name),
    ['Name', 'Size'],
  );
  t.deepEqual(
    table.rows.map(({cells}) => cells),
    [['b', 3]],
  );
});

test('with the status subresource, main path and status each write their part, and generation counts spec changes', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion({...sized, status: {properties: {phase: {type: 'string'}}}, subresources: {status: {}}})]));

  const made = await env.post(widgets, aWidget('a', {size: 2}, {status: {phase: 'Early'}}));
  t.is(made.json<{status?: object}>().status, undefined);
  await env.patch(`${widgets}/a/status`, {spec: {size: 9}, status: {phase: 'Done'}});
  const answerOf = (await env.patch(`${widgets}/a`, {spec: {size: 3}, status: {phase: 'Undone'}})).json<{
    metadata: {generation: number};
    spec: {size: number};
    status: {phase: string};
  }>();
  t.deepEqual([answerOf.metadata.generation, answerOf.spec.size, answerOf.status.phase], [2, 3, 'Done']);
});

test('the scale of a custom resource uses the paths of its definition', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({
        ...sized,
        status: {properties: {ready: {type: 'integer'}}},
        subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.ready'}},
      }),
    ]),
  );
  await env.post(widgets, aWidget('a', {size: 2, replicas: 1}));
  await env.patch(`${widgets}/a/status`, {status: {ready: 1}});

  const scaled = await env.patch(`${widgets}/a/scale`, {spec: {replicas: 4}});
  t.deepEqual(scaled.json<{kind: string; spec: object; status: object}>().status, {replicas: 1});
  t.is((await env.get(`${widgets}/a`)).json<{spec: {replicas: number}}>().spec.replicas, 4);

  const whole = (replicas: number, metadata: object = {}) =>
    env.put(`${widgets}/a/scale`, {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: {name: 'a', namespace: 'default', ...metadata},
      spec: {replicas},
    });
  t.deepEqual((await whole(5)).json<{spec: object}>().spec, {replicas: 5}, 'without a version');
  t.is((await whole(6, {resourceVersion: '1'})).status, 409);
  t.is(
    (await whole(-1)).json<{message: string}>().message,
    'Widget.example.com "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
});

test('custom resources are applied by their list keys and take no patches by directives', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion(sized)]));
  const apply = (manager: string, spec: object) =>
    env.patch(`${widgets}/a?fieldManager=${manager}`, aWidget('a', spec), {headers: {'content-type': 'application/apply-patch+yaml'}});

  t.is((await apply('one', {size: 2, ports: [{name: 'http', port: 80}]})).status, 201);
  t.is((await apply('two', {ports: [{name: 'https', port: 443}]})).status, 200);
  t.deepEqual(
    (await env.get(`${widgets}/a`)).json<{spec: {ports: {name: string}[]}}>().spec.ports.map(({name}) => name),
    ['http', 'https'],
  );

  const refused = await env.patch(`${widgets}/a`, {spec: {}}, {headers: {'content-type': 'application/strategic-merge-patch+json'}});
  t.is(refused.status, 415);
  t.notRegex(refused.text, /strategic/);
  t.is((await env.put(`${widgets}/a`, aWidget('a', {size: 3}))).status, 422, 'an update must say which version it is of');
});

test('objects that lie in the store in an old form are read by the present definition, and written anew with the next change', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion({spec: {properties: {size: {type: 'integer'}, old: {type: 'string'}}}})]));
  const {metadata} = (await env.post(widgets, aWidget('a', {size: 1, old: 'x'}))).json();
  await env.redefine(aDefinition([aVersion({spec: {properties: {size: {type: 'integer'}, color: {type: 'string', default: 'red'}}}})]));

  const now = (await env.get(`${widgets}/a`)).json<{metadata: {resourceVersion: string}; spec: object}>();
  t.deepEqual(now.spec, {size: 1, color: 'red'});
  t.is(now.metadata.resourceVersion, metadata!.resourceVersion!);
  t.deepEqual((await env.get(widgets)).json<{items: {spec: object}[]}>().items[0]!.spec, {size: 1, color: 'red'});
  const same = (await env.put(`${widgets}/a`, now)).json();
  t.not(same.metadata!.resourceVersion, metadata!.resourceVersion);
  const again = (await env.put(`${widgets}/a`, same)).json();
  t.is(again.metadata!.resourceVersion, same.metadata!.resourceVersion);
});

test('every version shows every object, whichever is stored', async t => {
  using env = await startCustom();
  const both = (stored: string) =>
    aDefinition(
      ['v1', 'v2'].map(name =>
        aVersion({
          name,
          storage: name === stored,
          spec: {properties: {size: {type: 'integer'}, color: {type: 'string', default: `${name} red`}}},
        }),
      ),
    );
  await env.define(both('v1'));
  const second = widgets.replace('/v1/', '/v2/');
  await env.post(widgets, aWidget('a', {size: 1}));
  await env.post(second, {...aWidget('b', {size: 2}), apiVersion: 'example.com/v2'});
  using stream = await env.watch(`${second}?watch=1`);

  const seen = async (url: string) =>
    (await env.get(url))
      .json<{items: {apiVersion: string; metadata: {name: string}; spec: {color: string}}[]}>()
      .items.map(({apiVersion, metadata, spec}) => `${apiVersion} ${metadata.name} ${spec.color}`);
  t.deepEqual(await seen(widgets), ['example.com/v1 a v1 red', 'example.com/v1 b v2 red']);
  t.deepEqual(await seen(second), ['example.com/v2 a v1 red', 'example.com/v2 b v2 red']);
  t.deepEqual(
    stream.events.map(({type, object}) => `${type} ${object.apiVersion} ${object.metadata?.name}`),
    ['ADDED example.com/v2 a', 'ADDED example.com/v2 b'],
  );

  await env.redefine(both('v2'));
  t.true(stream.ended, 'who watches comes back to the new state');
  t.deepEqual(await seen(widgets), ['example.com/v1 a v1 red', 'example.com/v1 b v2 red']);
  t.is((await env.patch(`${widgets}/a`, {spec: {size: 5}})).status, 200);
  t.deepEqual((await env.get(`${definitions}/widgets.example.com`)).json<{status: {storedVersions: string[]}}>().status.storedVersions, [
    'v1',
    'v2',
  ]);
});

const ruled = (validations: object[], more: object = {}): VersionSketch => ({
  spec: {
    properties: {min: {type: 'integer'}, max: {type: 'integer'}, name: {type: 'string', maxLength: 9, ...more}},
    'x-kubernetes-validations': validations,
  },
});

const verdicts: readonly [title: string, rule: object, spec: object, message: string | undefined][] = [
  ['one that holds', {rule: 'self.min <= self.max'}, {min: 1, max: 2}, undefined],
  ['one that does not', {rule: 'self.min <= self.max'}, {min: 2, max: 1}, 'spec: Invalid value: failed rule: self.min <= self.max'],
  ['one with words of its own', {rule: 'self.min <= self.max', message: 'too small'}, {min: 2, max: 1}, 'spec: Invalid value: too small'],
  [
    'one that works out its words',
    {rule: 'self.min <= self.max', messageExpression: 'self.max == 1 ? "not 1" : "not more"'},
    {min: 2, max: 1},
    'spec: Invalid value: not 1',
  ],
  [
    'one of a field, whose object is not shown',
    {rule: 'self.min <= self.max', fieldPath: '.max', reason: 'FieldValueDuplicate'},
    {min: 2, max: 1},
    'spec.max: Duplicate value',
  ],
  [
    'one of a field, for a reason',
    {rule: 'self.min <= self.max', fieldPath: '.max', reason: 'FieldValueForbidden', message: 'no'},
    {min: 2, max: 1},
    'spec.max: Forbidden: no',
  ],
  [
    'one that fails',
    {rule: 'self.min <= self.max'},
    {min: 2},
    'spec: Invalid value: "object": no such key: max evaluating rule: self.min <= self.max',
  ],
];

for (const [title, rule, spec, message] of verdicts) {
  test(`an object is validated by rules: ${title}`, async t => {
    using env = await startCustom();
    await env.define(aDefinition([aVersion(ruled([rule]))]));
    const made = await env.post(widgets, aWidget('a', spec));
    if (message === undefined) return t.is(made.status, 201);
    t.is(made.status, 422);
    t.is(made.json<{message: string}>().message, `Widget.example.com "a" is invalid: ${message}`);
  });
}

test('transition rules run on updates, and ratcheted errors only warn', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion(ruled([{rule: 'self.min >= oldSelf.min', message: 'never back'}]))]));
  t.is((await env.post(widgets, aWidget('a', {min: 2, name: 'web'}))).status, 201);
  t.regex((await env.patch(`${widgets}/a`, {spec: {min: 1}})).json<{message: string}>().message, /spec: Invalid value: never back$/);
  t.is((await env.patch(`${widgets}/a`, {spec: {min: 3}})).status, 200);

  await env.redefine(
    aDefinition([aVersion(ruled([], {'x-kubernetes-validations': [{rule: 'self.startsWith("x")', message: 'must begin with x'}]}))]),
  );
  const kept = await env.patch(`${widgets}/a`, {spec: {min: 4}});
  t.is(kept.status, 200);
  t.regex(String(kept.header('warning')), /spec.name: Invalid value: \\"web\\": must begin with x/);
  t.regex(
    (await env.patch(`${widgets}/a`, {spec: {name: 'y'}})).json<{message: string}>().message,
    /spec.name: Invalid value: "y": must begin with x$/,
  );
});

test('rules do not run on an object without a name', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion(ruled([{rule: 'self.min <= self.max'}]))]));
  const {message} = (await env.post(widgets, {...aWidget('', {min: 2, max: 1}), metadata: {}})).json<{message: string}>();

  t.is(
    message,
    'Widget.example.com "" is invalid: [metadata.name: Required value: name or generateName is required, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
  );
});

test('aggregated discovery lists the group and version of custom resources', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({
        spec: {properties: {replicas: {type: 'integer'}}},
        subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}},
      }),
    ]),
  );
  const {items} = (
    await env.get('/apis', {headers: {accept: 'application/json;g=apidiscovery.plat.io;v=v2;as=APIGroupDiscoveryList'}})
  ).json<{
    items: {metadata: {name: string}; versions: {resources: {responseKind: object; subresources: {responseKind: object}[]}[]}[]}[];
  }>();
  const {responseKind, subresources} = items.find(({metadata}) => metadata.name === 'example.com')!.versions[0]!.resources[0]!;

  const own = {group: 'example.com', version: 'v1', kind: 'Widget'};
  t.deepEqual(
    [responseKind, ...subresources.map(sub => sub.responseKind)],
    [own, own, {group: 'autoscaling', version: 'v1', kind: 'Scale'}],
  );
});

test('lists of custom resources have no continue token, and use the selectable fields', async t => {
  using env = await startCustom();
  await env.define();
  const metadata = async (path: string, accept = 'application/json') =>
    Object.keys((await env.get(path, {headers: {accept}})).json<{metadata: object}>().metadata).sort();
  const message = async (path: string, accept = 'application/json') =>
    (await env.get(path, {headers: {accept}})).json<{message: string}>().message;

  t.deepEqual(await metadata(widgets), ['continue', 'resourceVersion']);
  t.deepEqual(await metadata(`${widgets}?pretty=1`), ['continue', 'resourceVersion']);
  t.deepEqual(await metadata(widgets, 'application/json;as=Table;v=v1;g=meta.plat.io'), ['resourceVersion']);
  t.is(await message(`${widgets}?fieldSelector=spec.x%3D1`), 'field label not supported: spec.x');
  t.is(
    await message(widgets, 'text/html'),
    'only the following media types are accepted: application/json, application/yaml, application/vnd.plat.protobuf',
  );
});

test('rules do not run on an object that fails its schema', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion(ruled([{rule: 'self.min <= self.max'}]))]));
  const {details} = (await env.post(widgets, aWidget('a', {min: 'x'}))).json<{details: {causes: {field: string; message: string}[]}}>();
  t.deepEqual(
    details.causes.map(({field}) => field),
    ['spec.min', '<nil>'],
  );
  t.regex(
    details.causes[1]!.message,
    /some validation rules were not checked because the object was invalid; correct the existing errors to complete validation$/,
  );
});

test('finalizers without a domain are warned of when they are added', async t => {
  using env = await startCustom();
  await env.define();
  const path = `${widgets}/a`;
  const warned = (answer: {header(name: string): unknown}) => [answer.header('warning') ?? []].flat().map(String);

  const made = await env.post(widgets, {...aWidget('a'), metadata: {name: 'a', finalizers: ['mine', 'orphan', 'a.b/c', 'a.b']}});
  t.is(made.status, 201);
  t.regex(
    warned(made).join(),
    /metadata\.finalizers: \\"a\.b\\": prefer a domain-qualified finalizer name including a path \(\/\) to avoid.*\\"mine\\": prefer a domain-qualified finalizer name to avoid/s,
  );
  t.deepEqual(warned(await env.patch(path, {metadata: {labels: {a: 'b'}}})), []);
});

test('an object that does not fit its schema, as validation lets some through, has no owners noted', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion({spec: {properties: {day: {type: 'string', format: 'date'}}}})]));
  const owners = async (day: unknown) =>
    (await env.post(`${widgets}?dryRun=All`, aWidget('b', {day}))).json().metadata?.managedFields?.length;

  t.is(await owners('2024-01-01'), 1);
  t.is(await owners(['a']), undefined);
});

const labels: readonly [title: string, change: object, query: string, status: number, message: string][] = [
  [
    'no kind',
    {kind: undefined},
    '',
    400,
    `the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"apiVersion":"example.com/v1","metadata":{"name":"b"},"spec":{}}' ({"apiVersion":"example.com/v1" ...)`,
  ],
  [
    'no kind that is looked at',
    {kind: undefined},
    '?fieldValidation=Ignore',
    400,
    `Widget in version "v1" cannot be handled as a Widget: Object 'Kind' is missing in '{"apiVersion":"example.com/v1","metadata":{"name":"b"},"spec":{}}'`,
  ],
  [
    'no version',
    {apiVersion: undefined},
    '',
    400,
    'the API version in the data () does not match the expected API version (example.com/v1)',
  ],
  [
    'another version',
    {apiVersion: 'example.com/v7'},
    '',
    400,
    'the API version in the data (example.com/v7) does not match the expected API version (example.com/v1)',
  ],
  ['another kind', {kind: 'Gadget'}, '', 422, 'Gadget.example.com "b" is invalid: kind: Invalid value: "Gadget": must be Widget'],
];

test('a custom object names its kind and version, and unknown subresources and versions are reported', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({
        spec: {properties: {replicas: {type: 'integer'}}},
        subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}},
      }),
    ]),
  );
  await env.post(widgets, aWidget('a'));
  const answerOf = (answer: {status: number; json<T>(): T}) => [answer.status, answer.json<{message: string}>().message];

  for (const [title, change, query, status, message] of labels)
    t.deepEqual(answerOf(await env.post(`${widgets}${query}`, {...aWidget('b'), ...change})), [status, message], title);
  t.deepEqual((await env.post(widgets, {...aWidget('b'), apiVersion: 'example.com/v7'})).header('warning'), [
    String.raw`299 - "unknown field \"spec\""`,
  ]);
  t.deepEqual(answerOf(await env.patch(`${widgets}/a`, {kind: 'Gadget'})), [
    422,
    'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget',
  ]);
  t.deepEqual(answerOf(await env.get(`${widgets}/a/other`)), [404, 'widgets.example.com "a" not found']);
  for (const [method, body] of [
    ['POST', aWidget('b')],
    ['DELETE', undefined],
  ] as const) {
    t.is((await env.send(method, '/apis/example.com/v1/widgets', {body})).text, '404 page not found\n', `${method} without a namespace`);
  }
  t.regex(
    (await env.post(widgets, {...aWidget('b', {replicas: 'x'}), metadata: {name: 'b', labels: {a: 'x y'}}})).json<{message: string}>()
      .message,
    /is invalid: \[metadata\.labels: .*, spec\.replicas: /,
  );
  t.deepEqual(
    (await env.get('/apis/example.com/v1')).json<{resources: {name: string}[]}>().resources.map(({name}) => name),
    ['widgets', 'widgets/status', 'widgets/scale'],
  );
});

test('nothing is created while a definition goes, in whatever way', async t => {
  using env = await startCustom();
  await env.define();
  await env.post(widgets, {...aWidget('a'), metadata: {name: 'a', finalizers: ['example.com/held']}});
  await env.remove(`${definitions}/widgets.example.com`);
  await env.clock.drain();

  const why = 'widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating';
  const applied = await env.patch(`${widgets}/b?fieldManager=me`, aWidget('b'), {
    headers: {'content-type': 'application/apply-patch+yaml'},
  });
  for (const answer of [await env.post(widgets, aWidget('b')), applied])
    t.deepEqual([answer.status, answer.json<{message: string}>().message], [403, why]);
});

test('an object without a generation has its first', async t => {
  using env = await startCustom();
  await env.define();
  await env.store.create(
    '/registry/example.com/widgets/default/a',
    encodeRecord({...aWidget('a'), metadata: {name: 'a', namespace: 'default'}}),
  );
  t.is((await env.get(`${widgets}/a`)).json().metadata!.generation, 1);
});

test('objects within custom objects have any name a path can carry, and no metadata that there is not', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({
        spec: {
          properties: {
            part: {
              type: 'object',
              'x-kubernetes-embedded-resource': true,
              'x-kubernetes-preserve-unknown-fields': true,
              properties: {metadata: {type: 'object', properties: {unknown: {type: 'string', default: 'x'}}}},
            },
          },
        },
      }),
    ]),
  );
  const named = (name: string) => env.post(widgets, aWidget('a', {part: {apiVersion: 'v1', kind: 'Pod', metadata: {name}}}));
  t.is(
    (await named('..')).json<{message: string}>().message,
    'Widget.example.com "a" is invalid: spec.part.metadata.name: Invalid value: "..": may not be \'..\'',
  );
  const made = await named('Any_Name');
  t.is(made.status, 201);
  t.deepEqual(made.json<{spec: {part: {metadata: object}}}>().spec.part.metadata, {name: 'Any_Name'}, 'without what there is not');
});
