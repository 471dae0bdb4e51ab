import test from 'ava';
import {difference, intersection, setOf, union} from '#src/schema/apply/field-set.js';
import {decodeFields, formatPath, inWireOrder} from '#src/schema/apply/fields-v1.js';
import {ManagedObject, configMap, conflictOf, deployment, pod} from './managed-object.js';

test('Sets of fields join, meet and differ', t => {
  const a = decodeFields({'f:spec': {'f:x': {}, 'f:list': {'.': {}, 'k:{"name":"a"}': {'.': {}, 'f:image': {}}}}});
  const b = decodeFields({'f:spec': {'f:list': {'k:{"name":"a"}': {'f:image': {}, 'f:args': {}}}}});

  t.deepEqual(union(a, b), {'f:spec': {'f:x': {}, 'f:list': {'.': {}, 'k:{"name":"a"}': {'.': {}, 'f:image': {}, 'f:args': {}}}}});
  t.deepEqual(intersection(a, b), {'f:spec': {'f:list': {'k:{"name":"a"}': {'f:image': {}}}}});
  t.deepEqual(difference(a, b), {'f:spec': {'f:x': {}, 'f:list': {'.': {}, 'k:{"name":"a"}': {}}}});
  t.deepEqual(difference(b, a), {'f:spec': {'f:list': {'k:{"name":"a"}': {'f:args': {}}}}});
  t.is(difference(a, setOf([['f:status']])), a);
});

test('Sets from outside take on one spelling and the order of the wire', t => {
  const set = decodeFields({
    'v:"b"': {},
    'k:{"protocol":"TCP","containerPort":80}': {},
    'k:{"containerPort":443,"protocol":"TCP"}': {'.': {}},
    'f:b': {},
    'f:a': {'.': {}, 'f:c': {}},
    'x:future': {'f:y': {}},
  });

  t.deepEqual(Object.keys(inWireOrder(set)), [
    'f:a',
    'f:b',
    'k:{"containerPort":80,"protocol":"TCP"}',
    'k:{"containerPort":443,"protocol":"TCP"}',
    'v:"b"',
  ]);
  for (const bad of [{x: {}}, {nocolon: {}}, {'k:{': {}}, {'v:': {}}, {'f:a': 1}, 'text', {'i:x': {}}])
    t.throws(() => decodeFields(bad), undefined, JSON.stringify(bad));
});

test('Paths show fields, keys, values and indices', t => {
  const path = ['f:spec', 'k:{"containerPort":80,"name":"a"}', 'v:"x"', 'v:3', 'i:1', 'f:image'];

  t.is(formatPath(path), '.spec[containerPort=80,name="a"][="x"][=3][1].image');
});

test('The creator of an object owns the fields it set, and no more than the type needs', t => {
  const managed = new ManagedObject(deployment).update({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name: 'web', namespace: 'default', uid: 'u', labels: {app: 'web'}},
    spec: {
      replicas: 1,
      selector: {matchLabels: {app: 'web'}},
      strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: '25%', maxUnavailable: 1}},
      template: {
        metadata: {labels: {app: 'web'}},
        spec: {
          containers: [{name: 'web', image: 'nginx', ports: [{containerPort: 80, protocol: 'TCP'}], resources: {}, args: ['a']}],
          securityContext: {},
        },
      },
    },
  });

  t.deepEqual(managed.entries, [
    {
      manager: 'me',
      operation: 'Update',
      apiVersion: 'v1',
      time: '2026-01-02T03:04:01Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': {'f:labels': {'.': {}, 'f:app': {}}},
        'f:spec': {
          'f:replicas': {},
          'f:selector': {},
          'f:strategy': {'f:rollingUpdate': {'.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {}}, 'f:type': {}},
          'f:template': {
            'f:metadata': {'f:labels': {'.': {}, 'f:app': {}}},
            'f:spec': {
              'f:containers': {
                'k:{"name":"web"}': {
                  '.': {},
                  'f:args': {},
                  'f:image': {},
                  'f:name': {},
                  'f:ports': {'.': {}, 'k:{"containerPort":80,"protocol":"TCP"}': {'.': {}, 'f:containerPort': {}, 'f:protocol': {}}},
                  'f:resources': {},
                },
              },
              'f:securityContext': {},
            },
          },
        },
      },
    },
  ]);
});

test('The owner of an intent owns its leaves, items and empty maps alone', t => {
  const managed = new ManagedObject(pod).apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name: 'p', labels: {a: 'b'}, annotations: {}, finalizers: ['x/y']},
    spec: {
      containers: [{name: 'c', image: 'i', ports: [{containerPort: 80}], env: []}],
      tolerations: [{key: 'k'}],
      nodeSelector: {z: '1'},
      dnsPolicy: null,
    },
  });

  t.deepEqual(managed.entries[0]!.fieldsV1, {
    'f:metadata': {'f:annotations': {}, 'f:finalizers': {'v:"x/y"': {}}, 'f:labels': {'f:a': {}}},
    'f:spec': {
      'f:containers': {
        'k:{"name":"c"}': {
          '.': {},
          'f:image': {},
          'f:name': {},
          'f:ports': {'k:{"containerPort":80,"protocol":"TCP"}': {'.': {}, 'f:containerPort': {}}},
        },
      },
      'f:dnsPolicy': {},
      'f:nodeSelector': {},
      'f:tolerations': {},
    },
  });
});

test('An update takes the fields it changes from all managers and keeps its own time while its fields stay', t => {
  const managed = new ManagedObject(configMap).apply({data: {a: '1', b: '1'}}, {manager: 'one'});
  managed.update({data: {a: '2', b: '1'}}, {manager: 'two'});

  t.deepEqual(managed.owned('one'), ['.data.b']);
  t.deepEqual(managed.owned('two', 'Update'), ['.data.a']);
  const before = managed.entries;
  managed.update({data: {a: '3', b: '1'}}, {manager: 'two'});
  t.is(managed.entries, before, 'another value is no other set');
  managed.update({data: {a: '3', b: '2'}}, {manager: 'two'});
  t.deepEqual(
    managed.entries.map(({manager, time}) => [manager, time]),
    [['two', '2026-01-02T03:04:04Z']],
  );
  managed.update({data: {b: '2'}}, {manager: 'three'});
  t.deepEqual(managed.owned('two', 'Update'), ['.data.b']);
  t.deepEqual(managed.owned('three', 'Update'), []);
});

test('Untracked metadata has no owner', t => {
  const managed = new ManagedObject(configMap).update({
    metadata: {
      name: 'n',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '1',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      generateName: 'g-',
      labels: {a: 'b'},
    },
  });
  managed.apply({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'n', namespace: 'ns', uid: 'u'}}, {manager: 'empty'});

  t.deepEqual(managed.owned('me', 'Update'), ['.metadata.generateName', '.metadata.labels', '.metadata.labels.a']);
  t.is(managed.entries.length, 1);
});

test('Equal values are shared, other values conflict', t => {
  const managed = new ManagedObject(deployment).apply({spec: {replicas: 1, paused: true}}, {manager: 'one', apiVersion: 'apps/v1'});
  managed.apply({spec: {replicas: 1}}, {manager: 'two', apiVersion: 'apps/v1'});

  t.deepEqual([managed.owned('one'), managed.owned('two')], [['.spec.paused', '.spec.replicas'], ['.spec.replicas']]);
  const {message, status} = conflictOf(() => managed.apply({spec: {replicas: 2}}, {manager: 'two', apiVersion: 'apps/v1'}));
  t.is(message, 'Apply failed with 1 conflict: conflict with "one": .spec.replicas');
  t.like(status, {
    code: 409,
    reason: 'Conflict',
    details: {causes: [{reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.replicas'}]},
  });
});

test('A conflict names all owners and all their fields', t => {
  const managed = new ManagedObject(pod);
  managed.update(
    {spec: {containers: [{name: 'app', image: 'a', command: ['x']}]}},
    {manager: 'm2', apiVersion: 'v1', subresource: 'status'},
  );
  managed.apply({spec: {containers: [{name: 'app', image: 'a'}], hostNetwork: true}}, {manager: 'm1'});

  const wanted = {spec: {containers: [{name: 'app', image: 'b', command: ['y']}], hostNetwork: false}};
  const {message, status} = conflictOf(() => managed.apply(wanted, {manager: 'm3'}));
  t.is(
    message,
    [
      'Apply failed with 4 conflicts: conflicts with "m1":',
      '- .spec.hostNetwork',
      '- .spec.containers[name="app"].image',
      'conflicts with "m2" with subresource "status" using v1:',
      '- .spec.containers[name="app"].command',
      '- .spec.containers[name="app"].image',
    ].join('\n'),
  );
  t.deepEqual(
    status.details?.causes?.map(({message: text, field}) => `${text} at ${field}`),
    [
      'conflict with "m1" at .spec.hostNetwork',
      'conflict with "m1" at .spec.containers[name="app"].image',
      'conflict with "m2" with subresource "status" using v1 at .spec.containers[name="app"].command',
      'conflict with "m2" with subresource "status" using v1 at .spec.containers[name="app"].image',
    ],
  );
});

test('Force takes the fields from the others', t => {
  const managed = new ManagedObject(configMap).apply({data: {a: '1', b: '1'}}, {manager: 'one'});
  managed.apply({data: {a: '2'}}, {manager: 'two', force: true});

  t.deepEqual(managed.object, {data: {a: '2', b: '1'}});
  t.deepEqual([managed.owned('one'), managed.owned('two')], [['.data.b'], ['.data.a']]);
});
