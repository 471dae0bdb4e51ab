import test from 'ava';
import {entriesOf} from './applying.js';
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

test('a watch sees the objects of a definition go, and ends with it', async t => {
  using env = await startCustom();
  await env.define();
  await env.post(widgets, aWidget('free'));
  const held = aWidget('held');
  await env.post(widgets, {...held, metadata: {...held.metadata, finalizers: ['example.com/held']}});
  using stream = await env.watch(`${widgets}?watch=1`);
  await env.remove(`${definitions}/widgets.example.com`);
  await env.clock.advance(4_000);
  const seen = () => stream.events.map(({type, object}) => `${type} ${object.metadata?.name}`);

  t.deepEqual(seen(), ['ADDED free', 'ADDED held', 'DELETED free', 'MODIFIED held']);
  t.false(stream.ended);
  await env.patch(`${widgets}/held`, {metadata: {finalizers: null}});
  await env.clock.advance(70_000);
  t.is(seen().at(-1), 'DELETED held');
  t.true(stream.ended);
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

test('a status that a creation drops is read with its default, which is stored with the next update', async t => {
  using env = await startCustom();
  const status = {default: {phase: 'Pending'}, properties: {phase: {type: 'string'}, by: {type: 'string', default: 'nobody'}}};
  const declared = aVersion({...sized, status, subresources: {status: {}}});
  await env.define(aDefinition([declared]));
  interface Shown {
    readonly metadata: {readonly resourceVersion: string};
    readonly status?: object;
  }
  const pending = {phase: 'Pending', by: 'nobody'};
  using stream = await env.watch(`${widgets}?watch=1`);
  const tried = await env.post(`${widgets}?dryRun=All`, aWidget('a', {size: 2}));
  t.deepEqual(tried.json<Shown>().status, pending);
  const made = (await env.post(widgets, aWidget('a', {size: 2}, {status: {phase: 'Early'}}))).json<Shown>();
  t.deepEqual(made.status, pending);
  t.deepEqual((await env.get(`${widgets}/a`)).json<Shown>(), made);
  t.deepEqual((await env.get(widgets)).json<{items: Shown[]}>().items[0]!.status, pending);
  const seen = stream.events.map(({object}) => (object as unknown as Shown).status);
  t.deepEqual(seen, [pending]);

  const same = (await env.put(`${widgets}/a`, made)).json<Shown>();
  t.not(same.metadata.resourceVersion, made.metadata.resourceVersion, 'what is stored changes');
  t.is((await env.put(`${widgets}/a`, same)).json<Shown>().metadata.resourceVersion, same.metadata.resourceVersion);
  await env.post(widgets, aWidget('b', {size: 2}));
  await env.redefine(aDefinition([{...declared, ...aVersion({...sized, status: {...status, default: {phase: 'New'}}})}]));
  const phases = (await env.get(widgets)).json<{items: {status: {phase: string}}[]}>().items.map(item => item.status.phase);
  t.deepEqual(phases, ['Pending', 'New']);
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

test('the scale sets replicas that a custom resource does not have yet, though it shows none', async t => {
  using env = await startCustom();
  await env.define(
    aDefinition([
      aVersion({...sized, subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.ready'}}}),
    ]),
  );
  const scale = `${widgets}/a/scale`;
  const replicas = async () => (await env.get(`${widgets}/a`)).json<{spec: {replicas: number}}>().spec.replicas;
  const put = (count: number) =>
    env.put(scale, {apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: {name: 'a', namespace: 'default'}, spec: {replicas: count}});
  const apply = (count: number) =>
    env.patch(
      `${scale}?fieldManager=me`,
      {apiVersion: 'autoscaling/v1', kind: 'Scale', spec: {replicas: count}},
      {
        headers: {'content-type': 'application/apply-patch+yaml'},
      },
    );
  const scalers = async () =>
    entriesOf((await env.get(`${widgets}/a`)).json())
      .filter(({subresource}) => subresource)
      .map(({manager, fieldsV1}) => [manager, fieldsV1]);
  for (const [write, count] of [
    [(count: number) => env.patch(scale, {spec: {replicas: count}}), 4],
    [put, 5],
    [apply, 6],
  ] as const) {
    await env.post(widgets, aWidget('a', {size: 2}));
    t.is(
      (await env.get(scale)).json<{message: string}>().message,
      'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
    );
    t.is((await write(count)).status, 200);
    t.is(await replicas(), count);
    t.deepEqual(await scalers(), write === apply ? [['me', {'f:spec': {'f:replicas': {}}}]] : []);
    await env.send('DELETE', `${widgets}/a`);
  }
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

test('objects that lie in the store in an old form are read by the present definition, and written again with the next change', async t => {
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
  t.true(stream.ended, 'a watch that resumes sees the new state');
  t.deepEqual(await seen(widgets), ['example.com/v1 a v1 red', 'example.com/v1 b v2 red']);
  t.is((await env.patch(`${widgets}/a`, {spec: {size: 5}})).status, 200);
  t.deepEqual((await env.get(`${definitions}/widgets.example.com`)).json<{status: {storedVersions: string[]}}>().status.storedVersions, [
    'v1',
    'v2',
  ]);
});

test('an object loses its field owners with a field that another version in which it has owners does not declare', async t => {
  using env = await startCustom();
  const version = (name: string, field: string) =>
    aVersion({name, storage: name === 'v1', spec: {properties: {size: {type: 'integer'}, [field]: {type: 'string'}}}});
  await env.define(aDefinition([version('v1', 'a'), version('v2', 'b')]));
  const second = widgets.replace('/v1/', '/v2/');
  const owners = async (spec: object) =>
    (await env.patch(`${second}/a?fieldManager=two`, {spec})).json().metadata?.managedFields?.map(({manager}) => manager);
  await env.post(`${widgets}?fieldManager=one`, aWidget('a', {size: 1, a: 'x'}));

  t.deepEqual(await owners({size: 2}), ['one', 'two']);
  t.is(await owners({b: 'y'}), undefined);
  t.is(await owners({size: 3}), undefined);
});

test('a deprecated version warns of itself also where it lacks a subresource or a verb', async t => {
  using env = await startCustom();
  await env.define(aDefinition([aVersion({deprecated: true, deprecationWarning: 'go away'})]));
  await env.post(widgets, aWidget('a'));
  const answers = [await env.get(`${widgets}/a`), await env.patch(`${widgets}/a/status`, {}), await env.put(widgets, {})];

  t.deepEqual(
    answers.map(({status, header}) => [status, header('warning')]),
    [200, 404, 405].map(code => [code, ['299 - "go away"']]),
  );
});
