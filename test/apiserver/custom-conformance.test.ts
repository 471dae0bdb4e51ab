import test, {type ExecutionContext} from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {unpackDocument} from '#src/schema/openapi/packing.js';
import {aDefinition, aWidget, definitions, startCustom, widgets} from './custom.js';

/**
 * The tests of the official conformance suite on definitions of custom resources; test/apiserver/conformance-proofs.ts
 * maps them.
 */
type Json = Record<string, unknown>;

/** A version whose whole schema is given. */
const whole = (openAPIV3Schema: object, more: object = {}) => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: {openAPIV3Schema},
  ...more,
});

const described = {
  type: 'object',
  description: 'Foo CRD for Testing',
  properties: {
    spec: {
      type: 'object',
      description: 'Specification of Foo',
      properties: {
        bars: {
          description: 'List of Bars and their specs.',
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: {name: {description: 'Name of Bar.', type: 'string'}, age: {description: 'Age of Bar.', type: 'string'}},
          },
        },
      },
    },
    status: {
      description: 'Status of Foo',
      type: 'object',
      properties: {bars: {type: 'array', items: {type: 'object', properties: {available: {type: 'boolean'}}}}},
    },
  },
};

/** A server whose OpenAPI documents are read as they stand. */
const start = async () => {
  const env = await startCustom();
  const {naming, schemas} = env.server.registry.settings;
  const documents = new OpenApiDocuments({
    schemas,
    naming,
    clock: systemClock,
    groups: () => env.server.discovery.groups,
    version: 'unversioned',
  });
  env.server.registry.onChange(() => documents.invalidate());
  const read = async (document: Parameters<typeof unpackDocument>[0]) => JSON.parse(String(await unpackDocument(document))) as Json;
  return {
    ...env,
    swagger: async () =>
      (await read(await documents.swagger()))['definitions'] as Record<
        string,
        {description?: string; properties?: Record<string, object>} & Json
      >,
    async three(name: string) {
      const document = await documents.document(name);
      return document && ((await read(document))['components'] as {schemas: Record<string, Json>}).schemas;
    },
    [Symbol.dispose]: () => env[Symbol.dispose](),
  };
};
const foo = 'com.example.v1.Widget';

test('definitions are created, listed by label, deleted together, and watched', async t => {
  using env = await startCustom();
  using stream = await env.watch(`${definitions}?watch=1&labelSelector=of=it`);
  for (const name of ['ones', 'twos', 'threes'])
    await env.define({
      ...aDefinition([aDefinition().spec.versions[0]!], {names: {plural: name, kind: name}}),
      metadata: {name: `${name}.example.com`, labels: {of: 'it'}} as never,
    });
  await env.define();

  t.is((await env.get(`${definitions}?labelSelector=of=it`)).json<KubeList<KubeObject>>().items.length, 3);
  await env.patch(`${definitions}/ones.example.com`, {metadata: {annotations: {a: 'b'}}});
  t.is((await env.remove(`${definitions}?labelSelector=of=it`)).status, 200);
  await env.clock.advance(10_000);
  t.deepEqual(
    (await env.get(definitions)).json<KubeList<KubeObject>>().items.map(({metadata}) => metadata?.name),
    ['widgets.example.com'],
  );
  t.deepEqual(
    [...new Set(stream.events.filter(({object}) => object.metadata?.name === 'ones.example.com').map(({type}) => type))],
    ['ADDED', 'MODIFIED', 'DELETED'],
  );
});

test('custom objects are watched as they are created, updated and deleted', async t => {
  using env = await startCustom();
  await env.define();
  using stream = await env.watch(`${widgets}?watch=1`);
  await env.post(widgets, aWidget('a'));
  await env.patch(`${widgets}/a`, {metadata: {labels: {a: 'b'}}});
  await env.remove(`${widgets}/a`);

  t.deepEqual(stream.summaries, ['ADDED a', 'MODIFIED a', 'DELETED a']);
});

test('the status of a definition is read, patched and put at its own address', async t => {
  using env = await startCustom();
  await env.define();
  const status = `${definitions}/widgets.example.com/status`;
  type WithStatus = KubeObject & {status: {conditions: Json[]; storedVersions: string[]}};
  const before = (await env.get(status)).json<WithStatus>();
  const condition = {type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test'};
  const put = await env.put(status, {...before, status: {...before.status, conditions: [...before.status.conditions, condition]}});
  const patched = await env.patch(status, {
    metadata: {annotations: {patched: 'yes'}},
    spec: {scope: 'Cluster'},
    status: {storedVersions: ['v1']},
  });

  t.is(put.status, 200, put.text);
  t.is(patched.status, 200, patched.text);
  const after = (await env.get(`${definitions}/widgets.example.com`)).json<WithStatus & {spec: {scope: string}}>();
  t.true(after.status.conditions.some(({type}) => type === 'StatusUpdate'));
  t.deepEqual([after.spec.scope, after.status.storedVersions], ['Namespaced', ['v1']]);
});

test('discovery lists the kind of definitions at each of its levels', async t => {
  using env = await startCustom();
  const group = definitions.split('/')[2]!;
  const {groups} = (await env.get('/apis')).json<{groups: {name: string; versions: {version: string}[]}[]}>();
  t.deepEqual(
    groups.find(({name}) => name === group)?.versions.map(({version}) => version),
    ['v1'],
  );
  t.like((await env.get(`/apis/${group}`)).json(), {kind: 'APIGroup', preferredVersion: {version: 'v1'}} as never);
  const {resources} = (await env.get(`/apis/${group}/v1`)).json<{resources: {name: string}[]}>();
  t.deepEqual(
    resources.map(({name}) => name),
    ['customresourcedefinitions', 'customresourcedefinitions/status'],
  );
});

test('defaults fill in writes, and reads of earlier objects, and keep given values', async t => {
  using env = await startCustom();
  const properties = {a: {type: 'string'}, b: {type: 'string'}, c: {type: 'string'}};
  const versions = (more: object) => [whole({type: 'object', properties: {...properties, ...more}})];
  const read = async (name: string) => {
    const {a, b, c} = (await env.get(`${widgets}/${name}`)).json<{a?: string; b?: string; c?: string}>();
    return [a, b, c];
  };
  await env.define(aDefinition(versions({})));
  await env.post(widgets, aWidget('old', {}, {spec: undefined}));
  t.deepEqual(await read('old'), [undefined, undefined, undefined]);

  await env.redefine(aDefinition(versions({a: {type: 'string', default: 'A'}, b: {type: 'string', default: 'B'}})));
  t.deepEqual(await read('old'), ['A', 'B', undefined]);
  await env.patch(`${widgets}/old`, {metadata: {labels: {a: 'b'}}});
  await env.post(widgets, aWidget('new', {}, {spec: undefined, a: 'own'}));
  t.deepEqual(await read('new'), ['own', 'B', undefined]);

  await env.redefine(aDefinition(versions({a: {type: 'string', default: 'A2'}, c: {type: 'string', default: 'C'}})));
  t.deepEqual(await read('old'), ['A', 'B', 'C']);
  t.deepEqual(await read('new'), ['own', 'B', 'C']);
});

test('the documents describe a custom resource with a schema, and one without as any object', async t => {
  using env = await start();
  await env.define(aDefinition([whole(described)]));
  const {[foo]: typed} = await env.swagger();
  t.like(typed, {description: 'Foo CRD for Testing', type: 'object'});
  t.like(typed?.properties?.['spec'], {description: 'Specification of Foo'});
  t.deepEqual(typed?.['x-kubernetes-group-version-kind'], [{group: 'example.com', kind: 'Widget', version: 'v1'}]);
  t.true(Object.keys(typed?.properties ?? {}).includes('metadata'));

  await env.redefine(aDefinition([whole({type: 'object', 'x-kubernetes-preserve-unknown-fields': true})]));
  t.is((await env.swagger())[foo]?.properties, undefined);
  t.is((await env.three('apis/example.com/v1'))?.[foo]?.['x-kubernetes-preserve-unknown-fields'], true);
});

test('a schema that preserves unknown fields is published as any object', async t => {
  using env = await start();
  await env.define(
    aDefinition([
      whole({
        type: 'object',
        properties: {
          spec: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description: 'Any.', properties: {known: {type: 'string'}}},
        },
      }),
    ]),
  );

  const {
    'x-kubernetes-preserve-unknown-fields': kept,
    description,
    type,
    properties,
  } = ((await env.swagger())[foo]?.properties?.['spec'] ?? {}) as Json;
  t.deepEqual(
    [kept, description, type, properties],
    [true, 'Any.', undefined, undefined],
    'readers of the older document understand no types beside it',
  );
  t.is((await env.post(`${widgets}?fieldValidation=Strict`, aWidget('a', {known: 'a', unknown: {b: 'c'}}))).status, 201);
});

test('the OpenAPI documents include several definitions, across groups, versions and kinds', async t => {
  using env = await start();
  const named = (group: string, plural: string, kind: string, versions: readonly object[]) => ({
    ...aDefinition(versions, {group, names: {plural, kind}}),
    metadata: {name: `${plural}.${group}`},
  });
  await env.define(named('one.example.com', 'foos', 'Foo', [whole(described)]));
  await env.define(named('two.example.com', 'foos', 'Foo', [whole(described), whole(described, {name: 'v2', storage: false})]));
  await env.define(named('two.example.com', 'bars', 'Bar', [whole(described)]));

  const names = Object.keys(await env.swagger());
  for (const name of ['com.example.one.v1.Foo', 'com.example.two.v1.Foo', 'com.example.two.v2.Foo', 'com.example.two.v1.Bar'])
    t.true(names.includes(name), name);
});

test('the documents follow a version that is renamed, and one that is no longer served', async t => {
  using env = await start();
  const versions = (second: string, served = true) =>
    aDefinition([whole(described), whole(described, {name: second, storage: false, served})]);
  const widgetDefinitions = async () =>
    Object.keys(await env.swagger())
      .filter(name => /^com\.example\.v\d+\.Widget$/.test(name))
      .sort();
  await env.define(versions('v2'));
  const before = (await env.swagger())[foo];
  t.deepEqual(await widgetDefinitions(), ['com.example.v1.Widget', 'com.example.v2.Widget']);
  await env.redefine(versions('v4'));
  t.deepEqual(await widgetDefinitions(), ['com.example.v1.Widget', 'com.example.v4.Widget']);
  await env.redefine(versions('v4', false));
  t.deepEqual(await widgetDefinitions(), ['com.example.v1.Widget']);
  t.deepEqual((await env.swagger())[foo], before, 'the definition of the other version stays');
});

const applied = {headers: {'content-type': 'application/apply-patch+yaml'}};
const strictly = 'fieldManager=e2e&fieldValidation=Strict';
const partly = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {spec: {type: 'object', properties: {known: {type: 'string'}}}},
};
const embedded = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  properties: {metadata: {type: 'object', properties: {name: {type: 'string'}}}},
};
const embedding = {
  type: 'object',
  properties: {spec: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {template: embedded}}},
};

/** Makes an object, and applies it, where every field is to be known. */
const strictAnswer = (schema: object, content: object, refusal?: string) => async (t: ExecutionContext) => {
  using env = await startCustom();
  await env.define(aDefinition([whole(schema)]));
  const object = {...aWidget('a'), spec: undefined, ...content};
  const created = await env.post(`${widgets}?fieldValidation=Strict&dryRun=All`, object);
  const intent = await env.patch(`${widgets}/a?${strictly}`, object, applied);

  if (refusal === undefined) return t.deepEqual([created.status, intent.status], [201, 201], created.text + intent.text);
  t.is(created.status, 400);
  t.is(created.json<Status>().message?.replace(/^.*strict decoding error: /, ''), refusal);
  t.true(intent.status >= 400, intent.text);
};

test('strict callers take a valid object of a schema', strictAnswer(described, {spec: {bars: [{name: 'b'}]}}));
test(
  'strict field validation reports fields that are not in the schema',
  strictAnswer(described, {spec: {bars: [{name: 'b', odd: 1}]}, more: 1}, 'unknown field "more", unknown field "spec.bars[0].odd"'),
);
test(
  'strict clients add unknown fields where a part is specified and the rest preserved',
  strictAnswer(partly, {spec: {known: 'a'}, extra: {b: 'c'}}),
);
test(
  'strict callers add nothing to the part that is specified',
  strictAnswer(partly, {spec: {known: 'a', odd: 1}, extra: 1}, 'unknown field "spec.odd"'),
);
test(
  'strict clients send any field where there is no schema',
  strictAnswer({type: 'object', 'x-kubernetes-preserve-unknown-fields': true}, {spec: {a: {b: 'c'}}, d: [1]}),
);
test(
  'strict clients get errors for unknown metadata, of the object and of an embedded one',
  strictAnswer(
    embedding,
    {
      metadata: {name: 'a', unknownMeta: 'x'},
      spec: {template: {apiVersion: 'foo/v1', kind: 'Sub', metadata: {name: 'sub', unknownSubMeta: 'y'}}},
    },
    'unknown field "metadata.unknownMeta", unknown field "spec.template.metadata.unknownSubMeta"',
  ),
);

test('fields that are there twice are refused even where unknown ones are kept', async t => {
  using env = await startCustom();
  await env.define(aDefinition([whole({type: 'object', 'x-kubernetes-preserve-unknown-fields': true})]));
  const text = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"foo":"a","foo":"b"},"unknown":1}';
  const refused = await env.post(`${widgets}?fieldValidation=Strict`, text);
  t.deepEqual(
    [refused.status, refused.json<Status>().message?.replace(/^.*strict decoding error: /, '')],
    [400, 'duplicate field "spec.foo"'],
  );

  const yaml = await env.patch(
    `${widgets}/a?${strictly}`,
    'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  foo: a\n  foo: b\n',
    applied,
  );
  t.true(yaml.status >= 400);
  t.regex(yaml.json<Status>().message ?? '', /line 7: key "foo" already set in map/);
});
