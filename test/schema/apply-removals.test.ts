import test from 'ava';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {mergeIntent} from '#src/schema/apply/merge.js';
import type {SchemaNode} from '#src/schema/node.js';
import {ManagedObject, anything, configMap, deployment, node, pod} from './managed-object.js';

const service = node('', 'Service');
const removals: readonly [title: string, schema: SchemaNode, first: PlainObject, second: PlainObject, left: PlainObject][] = [
  ['a key of a map', configMap, {data: {a: '1', b: '1'}}, {data: {a: '1'}}, {data: {a: '1'}}],
  ['a whole map', configMap, {data: {a: '1'}, immutable: true}, {immutable: true}, {immutable: true}],
  [
    'a scalar',
    deployment,
    {spec: {replicas: 1, paused: true}},
    {spec: {paused: true}},
    {spec: {paused: true, template: {metadata: {}, spec: {}}, strategy: {}}},
  ],
  [
    'an item of a keyed list',
    pod,
    {spec: {containers: [{name: 'a'}, {name: 'b'}]}},
    {spec: {containers: [{name: 'b'}]}},
    {spec: {containers: [{name: 'b', resources: {}}]}},
  ],
  [
    'a field of an item',
    pod,
    {spec: {containers: [{name: 'a', image: 'i'}]}},
    {spec: {containers: [{name: 'a'}]}},
    {spec: {containers: [{name: 'a', resources: {}}]}},
  ],
  [
    'an item of a nested list',
    pod,
    {spec: {containers: [{name: 'a', ports: [{containerPort: 1, protocol: 'UDP'}, {containerPort: 1}]}]}},
    {spec: {containers: [{name: 'a', ports: [{containerPort: 1}]}]}},
    {spec: {containers: [{name: 'a', ports: [{containerPort: 1}], resources: {}}]}},
  ],
  ['an item of a set', pod, {metadata: {finalizers: ['a/b', 'c/d']}}, {metadata: {finalizers: ['c/d']}}, {metadata: {finalizers: ['c/d']}}],
  ['an atomic list', pod, {spec: {tolerations: [{key: 'a'}], hostIPC: true}}, {spec: {hostIPC: true}}, {spec: {hostIPC: true}}],
  [
    'an atomic list it shrinks',
    pod,
    {spec: {tolerations: [{key: 'a'}, {key: 'b'}]}},
    {spec: {tolerations: [{key: 'b'}]}},
    {spec: {tolerations: [{key: 'b'}]}},
  ],
  [
    'an atomic struct it changes',
    deployment,
    {spec: {selector: {matchLabels: {a: '1', b: '1'}}}},
    {spec: {selector: {matchLabels: {a: '1'}}}},
    {spec: {selector: {matchLabels: {a: '1'}}, template: {metadata: {}, spec: {}}, strategy: {}}},
  ],
  [
    'a field of an object without schema',
    anything,
    {spec: {a: {x: 1, y: [1]}, b: [1, 2]}},
    {spec: {a: {x: 1}, b: [2]}},
    {spec: {a: {x: 1}, b: [2]}},
  ],
];

for (const [title, schema, first, second, left] of removals) {
  test(`An intent that leaves out ${title} removes it`, t => {
    const managed = new ManagedObject(schema).apply(first).apply(second);

    t.deepEqual(managed.object, left);
  });
}

test('What others own stays when an owner lets go of it', t => {
  const managed = new ManagedObject(configMap).apply({data: {a: '1', b: '1'}}, {manager: 'one'}).apply({data: {a: '1'}}, {manager: 'two'});
  managed.apply({}, {manager: 'one'});

  t.deepEqual(managed.object, {data: {a: '1'}});
  t.deepEqual(
    managed.entries.map(({manager}) => manager),
    ['two'],
  );
});

test('An item is removed with the fields of others in it, once the item itself has no owner', t => {
  const managed = new ManagedObject(pod).apply({spec: {containers: [{name: 'a', image: 'i'}]}}, {manager: 'one'});
  managed.update({spec: {containers: [{name: 'a', image: 'i', imagePullPolicy: 'Always'}]}}, {manager: 'two'});
  managed.apply({spec: {hostIPC: true}}, {manager: 'one'});

  t.deepEqual(managed.object, {spec: {hostIPC: true}});
  t.deepEqual(managed.owned('two', 'Update'), []);
});

test('Items without an owner are removed with the list that held them only when it was owned', t => {
  const managed = new ManagedObject(pod).apply({spec: {containers: [{name: 'a'}]}});
  managed.object = {spec: {containers: [{name: 'a', image: 'admitted'}, {name: 'sidecar'}]}};
  managed.apply({spec: {containers: [{name: 'b'}]}});

  t.deepEqual(managed.object, {
    spec: {
      containers: [
        {name: 'sidecar', resources: {}},
        {name: 'b', resources: {}},
      ],
    },
  });
});

test('An empty intent gives up everything', t => {
  const managed = new ManagedObject(configMap)
    .apply({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}, data: {a: '1'}})
    .apply({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}});

  t.deepEqual(managed.entries, []);
  t.deepEqual(managed.object, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}});
});

const lists: readonly [live: string, intent: string, merged: string][] = [
  ['a b c', 'a b c', 'a b c'],
  ['a b c', 'c a', 'b c a'],
  ['a b', 'x', 'a b x'],
  ['a b', 'x b', 'a x b'],
  ['a b', 'a x', 'a b x'],
  ['a b c d', 'd b', 'a c d b'],
  ['', 'b a', 'b a'],
  ['a', '', 'a'],
  ['1 2 3', '3 2 4 1', '3 2 4 1'],
];

for (const [live, intent, merged] of lists) {
  test(`Items "${intent}" come into "${live}" as "${merged}"`, t => {
    const containers = (names: string): PlainObject => ({
      spec: {
        containers: names
          .split(' ')
          .filter(Boolean)
          .map(name => ({name})),
      },
    });
    const result = mergeIntent(containers(live), containers(intent), pod);
    const finalizers = (names: string): PlainObject => ({metadata: {finalizers: names.split(' ').filter(Boolean)}});

    t.deepEqual(result, containers(merged));
    t.deepEqual(mergeIntent(finalizers(live), finalizers(intent), pod), finalizers(merged));
  });
}

test('Keys left out of items stand for their defaults', t => {
  const managed = new ManagedObject(service).update(
    {
      spec: {
        ports: [
          {port: 80, protocol: 'TCP', targetPort: 1},
          {port: 80, protocol: 'UDP'},
        ],
      },
    },
    {manager: 'one'},
  );
  managed.apply({spec: {ports: [{port: 80, targetPort: 2}]}}, {force: true});

  t.deepEqual(managed.object, {
    spec: {
      ports: [
        {port: 80, protocol: 'TCP', targetPort: 2},
        {port: 80, protocol: 'UDP'},
      ],
    },
  });
});
