import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {establishLoop} from '#src/controlplane/definitions/establish.js';
import {finalizeLoop, type Instances} from '#src/controlplane/definitions/finalize.js';
import {namesLoop} from '#src/controlplane/definitions/names.js';
import {approvalLoop, structureLoop} from '#src/controlplane/definitions/condition-loops.js';
import {serverLoops} from '#src/controlplane/loops.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {startServer} from '#test/fixtures/server.js';

const kind = kinds.customResourceDefinitions as Kind<Definition>;

/** Objects that are there until they are removed so often. */
const objects = (left: Record<string, number>, more: Partial<Instances> = {}): Instances & {readonly removed: string[]} => {
  const removed: string[] = [];
  return {
    removed,
    namespaces: () => Promise.resolve(Object.keys(left).flatMap(namespace => Array.from({length: left[namespace]!}, () => namespace))),
    remove(_, namespace) {
      removed.push(namespace);
      delete left[namespace];
      return Promise.resolve();
    },
    ...more,
  };
};

const start = async (instances: Instances = objects({})) => {
  const env = startServer();
  const {clock} = env;
  const client = env.clientOf();
  const definitions = client.resource(kind);
  const stop = new AbortController();
  const loops = serverLoops(
    {client, clock, random: seededRandom(1), log: noLog, meter: noMeter, gate: () => false, watchSeconds: 86_400},
    stop.signal,
  );
  for (const loop of [namesLoop, establishLoop, structureLoop, approvalLoop, finalizeLoop(instances)]) await loops.run(loop);
  const conditions = async (name: string) =>
    (await definitions.get(name)).status?.conditions?.map(({type, status, reason, message}) => [type, status, reason, message].join(' '));
  const create = async (definition: Definition) => {
    const made = await definitions.create(definition);
    await clock.drain();
    return made;
  };
  const exists = async (name: string) => (await definitions.list()).items.some(({metadata}) => metadata?.name === name);
  return {...env, definitions, conditions, create, exists, [Symbol.dispose]: () => stop.abort()};
};

const aDefinition = (
  plural: string,
  names: object = {},
  {group = 'example.com', annotations = {}, spec = {}}: {group?: string; annotations?: object; spec?: object} = {},
): Definition =>
  ({
    metadata: {name: `${plural}.${group}`, annotations},
    spec: {
      group,
      scope: 'Namespaced',
      names: {plural, kind: plural.charAt(0).toUpperCase() + plural.slice(1), ...names},
      versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}],
      ...spec,
    },
  }) as Definition;

const accepted = 'NamesAccepted True NoConflicts no conflicts found';
const established = 'Established True InitialNamesAccepted the initial names have been accepted';

test('a definition gets its names and is established', async t => {
  using env = await start();
  await env.create(aDefinition('foos', {kind: 'Foo', shortNames: ['fo'], categories: ['all']}));
  const {status} = await env.definitions.get('foos.example.com');

  t.deepEqual(await env.conditions('foos.example.com'), [accepted, established]);
  t.deepEqual(status?.acceptedNames, {
    plural: 'foos',
    singular: 'foo',
    kind: 'Foo',
    listKind: 'FooList',
    shortNames: ['fo'],
    categories: ['all'],
  });
});

for (const [title, names, reason, message, given] of [
  ['plural', {plural: 'one'}, 'PluralConflict', '"one" is already in use', {singular: 'second', kind: 'Second', listKind: 'SecondList'}],
  [
    'singular',
    {singular: 'ones'},
    'SingularConflict',
    '"ones" is already in use',
    {plural: 'seconds', kind: 'Second', listKind: 'SecondList'},
  ],
  [
    'short names',
    {shortNames: ['o', 'p', 'one']},
    'ShortNamesConflict',
    '["o" is already in use, "one" is already in use]',
    {plural: 'seconds', singular: 'second', kind: 'Second', listKind: 'SecondList'},
  ],
  ['kind', {kind: 'One'}, 'KindConflict', '"One" is already in use', {plural: 'seconds', singular: 'second', listKind: 'SecondList'}],
  [
    'kind of lists',
    {listKind: 'OneList'},
    'ListKindConflict',
    '"OneList" is already in use',
    {plural: 'seconds', singular: 'second', kind: 'Second'},
  ],
  [
    'kind, and a short name, of which the last is reported',
    {shortNames: ['o'], kind: 'OneList'},
    'KindConflict',
    '"OneList" is already in use',
    {plural: 'seconds', singular: 'second', listKind: 'SecondList'},
  ],
] as const) {
  test(`a definition is not established while another of its group has its ${title}, and is once that goes`, async t => {
    using env = await start();
    await env.create(aDefinition('ones', {singular: 'one', kind: 'One', shortNames: ['o']}));
    const wanted = {plural: 'seconds', singular: 'second', kind: 'Second', listKind: 'SecondList', ...names};
    await env.create(aDefinition(wanted.plural, wanted));
    const name = `${wanted.plural}.example.com`;
    t.deepEqual(await env.conditions(name), [
      `NamesAccepted False ${reason} ${message}`,
      'Established False NotAccepted not all names are accepted',
    ]);
    const {acceptedNames} = (await env.definitions.get(name)).status ?? {};
    t.deepEqual({...acceptedNames}, {plural: '', kind: '', ...given} as never);

    await env.definitions.delete('ones.example.com');
    await env.clock.drain();
    t.false(await env.exists('ones.example.com'));
    t.deepEqual(await env.conditions(name), [accepted, established]);
  });
}

test('names of other groups are no conflict', async t => {
  using env = await start();
  await env.create(aDefinition('ones'));
  await env.create(aDefinition('ones', {}, {group: 'example.org'}));

  t.deepEqual(await env.conditions('ones.example.org'), [accepted, established]);
});

test('an established definition stays so when it requests a name of another, and keeps its old one', async t => {
  using env = await start();
  await env.create(aDefinition('ones', {shortNames: ['o']}));
  await env.create(aDefinition('twos', {shortNames: ['t']}));
  await env.definitions.patch('twos.example.com', 'merge', {spec: {names: {shortNames: ['t', 'o']}}});
  await env.clock.drain();

  t.deepEqual(await env.conditions('twos.example.com'), ['NamesAccepted False ShortNamesConflict "o" is already in use', established]);
  t.deepEqual((await env.definitions.get('twos.example.com')).status?.acceptedNames?.shortNames, ['t']);
  await env.definitions.patch('ones.example.com', 'merge', {spec: {names: {shortNames: []}}});
  await env.clock.drain();
  t.deepEqual(await env.conditions('twos.example.com'), [accepted, established]);
  t.deepEqual((await env.definitions.get('twos.example.com')).status?.acceptedNames?.shortNames, ['t', 'o']);
});

test('a definition whose webhook cannot be trusted is not established until it can', async t => {
  using env = await start();
  const conversion = (caBundle?: string) => ({
    strategy: 'Webhook',
    webhook: {conversionReviewVersions: ['v1'], clientConfig: {url: 'https://example.com', ...(caBundle ? {caBundle} : {})}},
  });
  await env.create(aDefinition('ones', {}, {spec: {conversion: conversion('Cg==')}}));
  t.deepEqual(await env.conditions('ones.example.com'), [
    accepted,
    'Established False InvalidCABundle The conversion webhook CABundle is invalid',
  ]);

  await env.definitions.patch('ones.example.com', 'merge', {spec: {conversion: {webhook: {clientConfig: {caBundle: null}}}}});
  await env.clock.drain();
  t.deepEqual(await env.conditions('ones.example.com'), [accepted, established]);
});

test('the time of a condition moves with its status alone', async t => {
  using env = await start();
  await env.create(aDefinition('ones'));
  const times = async () =>
    (await env.definitions.get('ones.example.com')).status?.conditions?.map(({lastTransitionTime}) => lastTransitionTime);
  const before = await times();
  await env.clock.advance(60_000);
  await env.definitions.patch('ones.example.com', 'merge', {spec: {names: {categories: ['all']}}});
  await env.clock.drain();

  t.deepEqual(await times(), before);
});

for (const [title, annotation, state] of [
  ['with a page', 'https://example.com/pull/1', 'True ApprovedAnnotation approved in https://example.com/pull/1'],
  ['with the annotation for no approval', 'unapproved, test-only', 'False UnapprovedAnnotation not approved: "unapproved, test-only"'],
] as const) {
  test(`the status has a condition for a definition in a protected group ${title}`, async t => {
    using env = await start();
    await env.create(aDefinition('ones', {}, {group: 'team.plat.io', annotations: {'api-approved.plat.io': annotation}}));

    t.deepEqual(
      (await env.conditions('ones.team.plat.io'))?.filter(text => text.startsWith('Kubernetes')),
      [`KubernetesAPIApprovalPolicyConformant ${state}`],
    );
  });
}

test('the condition about approval is set again when the annotation changes', async t => {
  using env = await start();
  const annotation = (value: string) => ({'api-approved.plat.io': value});
  await env.create(aDefinition('ones', {}, {group: 'plat.io', annotations: annotation('unapproved')}));
  await env.definitions.patch('ones.plat.io', 'merge', {metadata: {annotations: annotation('https://example.com/a')}});
  await env.clock.drain();

  t.true(
    (await env.conditions('ones.plat.io'))?.includes(
      'KubernetesAPIApprovalPolicyConformant True ApprovedAnnotation approved in https://example.com/a',
    ),
  );
});

test('the condition NonStructuralSchema is removed when the schema is structural', async t => {
  using env = await start();
  const made = await env.create(aDefinition('ones'));
  const {status} = await env.definitions.get('ones.example.com');
  const reported = {type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message: 'so it was'};
  const {metadata} = await env.definitions.get('ones.example.com');
  await env.definitions.update(
    {...made, metadata: metadata!, status: {...status, conditions: [...(status?.conditions ?? []), reported]}},
    {subresource: 'status'},
  );
  await env.clock.drain();

  t.deepEqual(await env.conditions('ones.example.com'), [accepted, established]);
});

test('a deleted definition is removed once its objects are', async t => {
  const instances = objects({a: 2, b: 1});
  using env = await start(instances);
  await env.create(aDefinition('ones'));
  await env.definitions.delete('ones.example.com');
  await env.clock.drain();

  t.deepEqual(instances.removed, ['a', 'b']);
  t.false(await env.exists('ones.example.com'));
});

test('a definition that was never established is removed without reading objects', async t => {
  const instances = objects({a: 1});
  using env = await start(instances);
  await env.create(aDefinition('ones'));
  await env.create(aDefinition('twos', {singular: 'ones'}));
  await env.definitions.patch('twos.example.com', 'merge', {metadata: {finalizers: ['example.com/held']}});
  await env.definitions.delete('twos.example.com');
  await env.clock.drain();

  t.deepEqual(instances.removed, []);
  t.deepEqual((await env.definitions.get('twos.example.com')).metadata?.finalizers, ['example.com/held']);
  t.is((await env.conditions('twos.example.com'))?.at(-1), 'Terminating False NeverEstablished resource was never established');
});

test('a definition of built-in resources is deleted without their objects', async t => {
  const instances = objects({a: 1});
  using env = await start(instances);
  await env.create(aDefinition('apiservices', {}, {group: 'apiregistration.plat.io', annotations: {'api-approved.plat.io': 'unapproved'}}));
  await env.definitions.delete('apiservices.apiregistration.plat.io');
  await env.clock.drain();

  t.deepEqual(instances.removed, []);
  t.false(await env.exists('apiservices.apiregistration.plat.io'));
});

test('objects that others hold are waited for', async t => {
  const left = {a: 1};
  const instances = objects(left, {remove: () => Promise.resolve()});
  using env = await start(instances);
  await env.create(aDefinition('ones'));
  await env.definitions.delete('ones.example.com');
  await env.clock.advance(20_000);
  t.is(
    (await env.conditions('ones.example.com'))?.at(-1),
    'Terminating True InstanceDeletionInProgress CustomResource deletion is in progress',
  );
  await env.clock.advance(40_002);
  t.is(
    (await env.conditions('ones.example.com'))?.at(-1),
    'Terminating True InstanceDeletionCheck could not confirm zero CustomResources remaining: context deadline exceeded',
  );

  left.a = 0;
  await env.clock.advance(70_000);
  t.false(await env.exists('ones.example.com'));
});

for (const [what, message, more] of [
  ['listed', 'could not list instances: no', {namespaces: () => Promise.reject(new Error('no'))}],
  ['deleted', 'could not issue all deletes: no', {remove: () => Promise.reject(new Error('no'))}],
] as const) {
  test(`objects that cannot be ${what} are reported and retried`, async t => {
    const broken = objects({a: 1, b: 1}, more);
    const whole = objects({a: 1, b: 1});
    let isWhole = false;
    using env = await start({
      namespaces: definition => (isWhole ? whole : broken).namespaces(definition),
      remove: (definition, namespace) => (isWhole ? whole : broken).remove(definition, namespace),
    });
    await env.create(aDefinition('ones'));
    await env.definitions.delete('ones.example.com');
    await env.clock.advance(100);
    t.is((await env.conditions('ones.example.com'))?.at(-1), `Terminating True InstanceDeletionFailed ${message}`);

    isWhole = true;
    await env.clock.advance(10_000);
    t.false(await env.exists('ones.example.com'));
  });
}

test('the condition Terminating is set at once when a definition is deleted', async t => {
  const env = startServer();
  const definitions = env.clientOf().resource(kind);
  await definitions.create(aDefinition('ones'));
  const answer = (await definitions.delete('ones.example.com')) as Definition;

  t.is(answer.kind, 'CustomResourceDefinition');
  t.like(answer.metadata, {
    finalizers: ['customresourcecleanup.apiextensions.plat.io'],
    deletionTimestamp: '2026-01-01T00:00:00Z',
    generation: 1,
  });
  t.like(answer.status?.conditions?.[0], {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  });
});
