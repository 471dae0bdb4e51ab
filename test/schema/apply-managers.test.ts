import {isDeepStrictEqual} from 'node:util';
import test from 'ava';
import {sameJson} from '#src/api/equal.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {applyIntent} from '#src/schema/apply/apply.js';
import {ApplyConflict} from '#src/schema/apply/conflicts.js';
import {fieldsOf} from '#src/schema/apply/intent.js';
import {typeMismatches, typeMismatchText} from '#src/schema/apply/type-mismatches.js';
import {requestsReset, readEntries, type ManagedFieldsEntry} from '#src/schema/apply/managers.js';
import {pathsOf, formatPath} from '#src/schema/apply/fields-v1.js';
import type {Versions, Writer} from '#src/schema/apply/tracking.js';
import type {SchemaNode} from '#src/schema/node.js';
import {ManagedObject, anything, configMap, conflictOf, deployment, lastAppliedKey, pod} from './managed-object.js';

test('The first apply leaves earlier fields to a manager before the first apply', t => {
  const managed = new ManagedObject(configMap);
  managed.object = {data: {a: '1', b: '1'}};
  const {message} = conflictOf(() => managed.apply({data: {a: '2'}}));
  managed.apply({data: {a: '1', c: '3'}});

  t.is(message, 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a');
  t.deepEqual(managed.owned('before-first-apply', 'Update'), ['.data', '.data.a', '.data.b']);
  t.deepEqual(managed.owned('me'), ['.data.a', '.data.c']);
});

test('No more than ten updaters are kept, the oldest become one', t => {
  const managed = new ManagedObject(configMap);
  const data: Record<string, string> = {};
  for (let index = 0; index < 14; index++) {
    data[`k${index}`] = '1';
    managed.update({data: {...data}}, {manager: `m${index}`});
  }

  t.deepEqual(
    managed.entries.map(({manager}) => manager),
    ['ancient-changes', ...Array.from({length: 9}, (_, index) => `m${index + 5}`)],
  );
  t.deepEqual(managed.owned('ancient-changes', 'Update'), ['.data', '.data.k0', '.data.k1', '.data.k2', '.data.k3', '.data.k4']);
  t.is(managed.entries[0]!.time, '2026-01-02T03:04:05Z');
});

test('Entries stand in order: those that apply, then by time and manager', t => {
  const managed = new ManagedObject(configMap).update({data: {a: '1'}}, {manager: 'z'}).update({data: {a: '1', b: '1'}}, {manager: 'a'});
  managed.update({data: {a: '1', b: '1', c: '1'}}, {manager: 'a', subresource: 'status'});
  managed.apply({data: {d: '1'}}, {manager: 'x'});

  t.deepEqual(
    managed.entries.map(({manager, operation, subresource}) => [manager, operation, subresource]),
    [
      ['x', 'Apply', undefined],
      ['z', 'Update', undefined],
      ['a', 'Update', undefined],
      ['a', 'Update', 'status'],
    ],
  );
});

test('A subresource owns only the fields it writes', t => {
  const managed = new ManagedObject(deployment);
  managed.update({metadata: {labels: {a: '1'}}, spec: {replicas: 1}, status: {replicas: 3}}, {writes: ['metadata', 'spec']});
  managed.update(
    {metadata: {labels: {a: '2'}}, spec: {replicas: 2}, status: {replicas: 4, conditions: [{type: 'Available', status: 'True'}]}},
    {subresource: 'status', manager: 'kcm', writes: ['status.conditions']},
  );
  managed.apply({spec: {replicas: 2}, status: {replicas: 4}}, {manager: 'applier', writes: ['metadata', 'spec']});

  t.deepEqual(managed.owned('me', 'Update'), ['.metadata.labels', '.metadata.labels.a', '.spec.replicas']);
  t.deepEqual(managed.owned('kcm', 'Update'), [
    '.status.conditions',
    '.status.conditions[type="Available"]',
    '.status.conditions[type="Available"].status',
    '.status.conditions[type="Available"].type',
  ]);
  t.deepEqual(managed.owned('applier'), ['.spec.replicas']);
});

test('Ownership follows an object through its versions', t => {
  const rename = (object: PlainObject, from: string, to: string): PlainObject =>
    'spec' in object
      ? {
          ...object,
          spec: Object.fromEntries(Object.entries(object['spec'] as PlainObject).map(([key, value]) => [key === from ? to : key, value])),
        }
      : object;
  const versions: Versions = {
    schemaOf: version => (version === 'v0' ? undefined : anything),
    convert: (object, from, to) =>
      from === to ? object : from === 'v1' ? rename(object, 'size', 'replicas') : rename(object, 'replicas', 'size'),
  };
  const managed = new ManagedObject(anything, versions).apply({spec: {size: 1, other: 1}}, {manager: 'one'});
  managed.entries = [...managed.entries, {...managed.entries[0]!, manager: 'gone', apiVersion: 'v0'}];
  managed.object = versions.convert(managed.object, 'v1', 'v2');

  t.is(
    conflictOf(() => managed.apply({spec: {replicas: 2}}, {manager: 'two', apiVersion: 'v2'})).message,
    'Apply failed with 1 conflict: conflict with "one": .spec.size',
  );
  managed.apply({spec: {replicas: 2}}, {manager: 'two', apiVersion: 'v2', force: true});
  t.deepEqual(
    [managed.owned('one'), managed.owned('two'), managed.owned('gone')],
    [['.spec', '.spec.other'], ['.spec', '.spec.replicas'], []],
  );
  managed.apply({spec: {other: 1}}, {manager: 'two', apiVersion: 'v2'});
  t.deepEqual(managed.object, {spec: {other: 1}});
  managed.apply({spec: {third: 1}}, {manager: 'one', apiVersion: 'v2'});
  t.deepEqual(managed.object, {spec: {other: 1, third: 1}}, 'two still wants it');
  t.deepEqual(
    managed.entries.map(({manager, apiVersion}) => [manager, apiVersion]),
    [
      ['two', 'v2'],
      ['one', 'v2'],
    ],
  );
});

test('What was owned in parts and is atomic now is owned as a whole', t => {
  const managed = new ManagedObject(pod).apply({spec: {nodeSelector: {a: '1'}}}, {manager: 'new'});
  const entry: ManagedFieldsEntry = {
    manager: 'old',
    operation: 'Apply',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: {'f:spec': {'f:nodeSelector': {'f:a': {}}, 'f:tolerations': {'.': {}, 'i:0': {}}}},
  };
  managed.entries = [...managed.entries, entry];
  managed.apply({spec: {hostIPC: true}}, {manager: 'new'});

  t.deepEqual(managed.owned('old'), ['.spec.nodeSelector', '.spec.tolerations']);
  t.deepEqual(managed.object, {spec: {nodeSelector: {a: '1'}, hostIPC: true}});
});

const outside: readonly [entries: unknown, problem: RegExp | undefined][] = [
  [[{manager: 'a', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {'f:data': {}}}], undefined],
  [[{operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1'}], undefined],
  [undefined, undefined],
  [[{operation: 'Write', apiVersion: 'v1', fieldsType: 'FieldsV1'}], /operation must be `Apply` or `Update`/],
  [[{operation: 'Update', fieldsType: 'FieldsV1'}], /apiVersion must not be empty/],
  [[{operation: 'Update', apiVersion: 'v1'}], /missing fieldsType in managed fields entry 0/],
  [[{operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV2'}], /invalid fieldsType "FieldsV2" in managed fields entry 0/],
  [[{operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {bad: {}}}], /missing colon/],
];

test('Entries from outside are read or refused as a whole', t => {
  for (const [entries, problem] of outside) {
    if (problem) t.throws(() => readEntries(entries), {message: problem});
    else t.notThrows(() => readEntries(entries));
  }
  for (const reset of [[], [{}]]) t.true(requestsReset(reset));
  for (const none of [undefined, [{}, {}], [{manager: 'x'}]]) t.false(requestsReset(none));
});

const unfit: readonly [schema: SchemaNode, intent: PlainObject, text: string][] = [
  [deployment, {spec: {replicas: 1, unknown: 1, other: 2}}, '.spec.unknown: field not declared in schema'],
  [deployment, {spec: {replicas: 'x'}}, '.spec.replicas: expected numeric (int or float), got string'],
  [deployment, {metadata: {labels: {a: 1}}}, '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}'],
  [
    deployment,
    {metadata: {labels: {a: {b: [true, 'c']}}}},
    '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":[]interface {}{true, "c"}}}',
  ],
  [pod, {spec: {containers: {a: 1}}}, '.spec.containers: expected list, got &{map[a:1]}'],
  [pod, {spec: 'x'}, '.spec: expected map, got &{x}'],
  [pod, {spec: {hostIPC: 1}}, '.spec.hostIPC: expected boolean, got &{1}'],
  [pod, {spec: {containers: [{name: 'a'}, {name: 'a'}]}}, '.spec.containers: duplicate entries for key [name="a"]'],
  [pod, {spec: {containers: [null]}}, '.spec.containers: element 0: associative list with keys may not have a null element'],
  [pod, {spec: {containers: [{name: 'a', imagex: 1}]}}, '.spec.containers[name="a"].imagex: field not declared in schema'],
  [pod, {spec: {tolerations: [{key: 1}]}}, '.spec.tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}'],
  [pod, {metadata: {finalizers: ['a', 'a']}}, '.metadata.finalizers: duplicate entries for key [="a"]'],
  [
    pod,
    {metadata: {ownerReferences: [{name: 'x'}]}, spec: {hostIPC: 'y', hostPID: 'z'}},
    'errors:\n  .spec.hostIPC: expected boolean, got &{y}\n  .spec.hostPID: expected boolean, got &{z}',
  ],
];

test('An intent must fit its schema', t => {
  for (const [schema, intent, text] of unfit) t.is(typeMismatchText(typeMismatches(intent, schema)), text);
  t.deepEqual(
    typeMismatches({spec: {containers: [{name: 'a', resources: {limits: {cpu: 1, memory: '1Gi'}}}], nodeSelector: null}}, pod),
    [],
  );
  t.deepEqual(typeMismatches({spec: {any: [1, {x: null}]}}, anything), []);
});

test('What a client had applied passes to the command line’s manager', t => {
  const applied = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}, data: {a: '1', b: '1'}};
  const annotations = {[lastAppliedKey]: JSON.stringify(applied)};
  const managed = new ManagedObject(configMap).update(
    {...applied, metadata: {name: 'x', annotations}, data: {a: '1', b: 'changed'}},
    {manager: 'client'},
  );
  const intent = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}, data: {a: '2'}};

  t.throws(() => managed.apply(intent, {manager: 'other'}), {instanceOf: ApplyConflict});
  t.is(
    conflictOf(() => managed.apply({...intent, data: {a: '2', b: '3'}}, {manager: 'kubectl'})).message,
    'Apply failed with 1 conflict: conflict with "client" using v1: .data.b',
  );
  managed.apply(intent, {manager: 'kubectl'});
  t.deepEqual(managed.owned('kubectl'), ['.data.a']);
  t.deepEqual((managed.object['metadata'] as PlainObject)['annotations'], {
    [lastAppliedKey]: '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"x"}}\n',
  });
});

const text: SchemaNode = {type: 'string'};
const struct = (properties: Readonly<Record<string, SchemaNode>>, more: Partial<SchemaNode> = {}): SchemaNode => ({
  type: 'object',
  properties: new Map(Object.entries(properties)),
  ...more,
});

const custom = struct({
  apiVersion: text,
  kind: text,
  spec: struct({
    tags: {type: 'array', listType: 'set', items: text},
    plain: {type: 'array', items: text},
    rules: {
      type: 'array',
      listType: 'map',
      listMapKeys: ['host', 'port'],
      items: struct({
        host: text,
        port: {type: 'integer', default: 80},
        paths: {type: 'array', listType: 'map', listMapKeys: ['path'], items: struct({path: text, weight: {type: 'integer'}})},
      }),
    },
    whole: {type: 'map', mapType: 'atomic', items: text},
    keys: {type: 'map', items: text},
    free: {type: 'object', preservesUnknown: true},
    one: struct({a: text, b: text}, {mapType: 'atomic'}),
  }),
});

test('Custom resources are owned by the structure of their schema', t => {
  const full = {
    spec: {
      tags: ['x', 'y'],
      plain: ['x'],
      rules: [{host: 'h', paths: [{path: '/', weight: 1}]}],
      whole: {a: '1'},
      keys: {a: '1'},
      free: {deep: {list: [1], value: 1}},
      one: {a: '1'},
    },
  };
  const managed = new ManagedObject(custom).apply(full, {manager: 'one'}).update(full, {manager: 'nobody'});
  const made = new ManagedObject(custom).update(full);

  t.deepEqual(
    managed.entries.map(({manager}) => manager),
    ['one'],
  );
  t.deepEqual(managed.owned('one'), [
    '.spec.free.deep',
    '.spec.free.deep.list',
    '.spec.free.deep.value',
    '.spec.keys.a',
    '.spec.one',
    '.spec.plain',
    '.spec.rules[host="h",port=80]',
    '.spec.rules[host="h",port=80].host',
    '.spec.rules[host="h",port=80].paths[path="/"]',
    '.spec.rules[host="h",port=80].paths[path="/"].path',
    '.spec.rules[host="h",port=80].paths[path="/"].weight',
    '.spec.tags[="x"]',
    '.spec.tags[="y"]',
    '.spec.whole',
  ]);
  t.deepEqual(made.entries[0]!.fieldsV1['f:spec']!['f:keys'], {'.': {}, 'f:a': {}});
  t.true('.' in made.entries[0]!.fieldsV1['f:spec']!, 'without a type in code nothing is always there');
  managed.apply({spec: {tags: ['z', 'x'], rules: [{host: 'h', port: 81}], free: {more: 1}, keys: {b: '1'}}}, {manager: 'two'});
  t.deepEqual((managed.object['spec'] as PlainObject)['tags'], ['z', 'x', 'y']);
  managed.apply({spec: {tags: ['x']}}, {manager: 'one'});
  t.deepEqual(managed.object, {spec: {tags: ['z', 'x'], rules: [{host: 'h', port: 81}], free: {more: 1}, keys: {b: '1'}}});
});

/** Repeatable choices. */
const random = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
};

const someIntent = (next: () => number): PlainObject => {
  const chance = (share: number): boolean => next() < share;
  const one = <T>(...from: readonly T[]): T => from[Math.floor(next() * from.length)]!;
  const containers = ['a', 'b', 'c']
    .filter(() => chance(0.5))
    .map(name => ({
      name,
      ...(chance(0.5) ? {image: one('x', 'y')} : {}),
      ...(chance(0.3) ? {args: [one('1', '2')]} : {}),
      ...(chance(0.4)
        ? {
            ports: [80, 443]
              .filter(port => port === 80 || chance(0.6))
              .map(containerPort => ({containerPort, ...(chance(0.5) ? {name: one('p', 'q')} : {})})),
          }
        : {}),
    }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      ...(chance(0.6)
        ? {labels: Object.fromEntries(['l', 'm', 'n'].filter(key => key === 'n' || chance(0.5)).map(key => [key, one('1', '2')]))}
        : {}),
      ...(chance(0.4) ? {finalizers: ['a/a', 'b/b', 'c/c'].filter(name => name === 'b/b' || chance(0.5))} : {}),
    },
    spec: {
      ...(containers.length > 0 ? {containers} : {}),
      ...(chance(0.3) ? {nodeSelector: {z: one('1', '2')}} : {}),
      ...(chance(0.3) ? {hostIPC: chance(0.5)} : {}),
    },
  };
};

const timeless = (entry: ManagedFieldsEntry) => ({...entry, time: undefined});

const leaves = (intent: PlainObject): string[] => [...pathsOf(fieldsOf(intent, pod))].map(formatPath);

test('Applying twice changes nothing, and a field that leaves an intent is removed if and only if it has no other owner', t => {
  for (let seed = 1; seed <= 40; seed++) {
    const next = random(seed);
    const managed = new ManagedObject(pod);
    for (let step = 0; step < 12; step++) {
      const manager = `m${Math.floor(next() * 3)}`;
      const before = new Set(managed.owned(manager));
      const intent = someIntent(next);
      managed.apply(intent, {manager, force: true});
      const {object, entries} = managed;
      const others = new Set(
        managed.entries.filter(entry => entry.manager !== manager).flatMap(entry => [...pathsOf(entry.fieldsV1)].map(formatPath)),
      );
      const [present, intended] = [leaves(object), leaves(intent)];
      const owned = new Set(managed.owned(manager));

      for (const path of intended)
        if (!path.startsWith('.metadata.name'))
          t.true(path.startsWith('.apiVersion') || path.startsWith('.kind') || owned.has(path), `${seed}/${step} ${path}`);
      for (const path of before) {
        if (intended.includes(path)) continue;
        const held = others.has(path) || [...others, ...intended].some(other => other.startsWith(path));
        if (!held) t.false(present.includes(path), `${seed}/${step}: ${path} stayed`);
        else if (others.has(path))
          t.true(
            present.some(other => other.startsWith(path)),
            `${seed}/${step}: ${path} went`,
          );
      }
      managed.apply(intent, {manager});
      t.true(sameJson(managed.object, object), `${seed}/${step} ${JSON.stringify([intent, object, managed.object])}`);
      const [again, once] = [managed.entries.map(timeless), entries.map(timeless)];
      if (!isDeepStrictEqual(again, once)) t.deepEqual(again, once); // That of ava takes most of the time.
    }
  }
});

test('Neither the live object nor the intent is changed', t => {
  const live = {spec: {containers: [{name: 'a', image: 'x'}]}};
  const intent = {spec: {containers: [{name: 'b', image: 'y'}]}};
  const [liveBefore, intentBefore] = [copied(live), copied(intent)];
  const writer: Writer = {
    manager: 'm',
    subresource: '',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    writes: undefined,
    versions: {schemaOf: () => pod, convert: object => object},
  };
  applyIntent({live, intent, node: pod, entries: [], force: false}, writer);

  t.deepEqual([live, intent], [liveBefore, intentBefore]);
});
