import test from 'ava';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import type {Findings} from '#src/api/collect-errors.js';
import {ruleProblems} from '#src/resources/apiextensions/rules.js';
import {evaluateRules, RuleTree} from '#src/resources/custom/rules/evaluate.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {aSchema} from '#test/schema/custom-objects.js';
import {aDefinition, aVersion, aWidget, definitions, startCustom, widgets, type VersionSketch} from './custom.js';

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
  t.deepEqual(made.json<{spec: {part: {metadata: object}}}>().spec.part.metadata, {name: 'Any_Name'}, 'without unknown fields');
});

test('rules are compiled and evaluated in steps, in a definition and for each object, and one that takes long in many', t => {
  const stepsOf = (found: Findings): {readonly steps: number; readonly errors: number} => {
    const all = [...found];
    return {steps: all.filter(one => one === undefined).length, errors: all.filter(one => one !== undefined).length};
  };
  const source: JsonSchema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {numbers: {type: 'array', maxItems: 60, items: {type: 'integer'}}},
        'x-kubernetes-validations': [
          ...Array.from({length: 50}, (_, index) => ({rule: `size(self.numbers) != ${index + 100}`})),
          {rule: 'self.numbers.all(x, self.numbers.all(y, x + y != 5))'},
        ],
      },
    },
  };
  const {node} = aSchema(source);
  const tree = new RuleTree(source, node, true);
  const evaluate = (numbers: readonly number[]) => {
    let steps = 0;
    const work = evaluateRules(tree, {object: {spec: {numbers}}, old: undefined, correlated: undefined, warn() {}});
    for (let next = work.next(); ; next = work.next()) {
      if (next.done) return {steps, errors: next.value.length};
      steps++;
    }
  };

  t.true(stepsOf(ruleProblems(source, 'schema', {free: false, problems: []})).steps >= 51);
  t.deepEqual(evaluate([1]), {steps: 52, errors: 0});
  t.true(evaluate([1]).steps <= 2);
  const long = evaluate(Array.from({length: 60}, () => 7));
  t.is(long.errors, 0);
  t.true(long.steps > 10);
});
