import test, {type ExecutionContext} from 'ava';
import {naming} from '#src/api/naming.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {touchedByMergePatch, touchedByJsonPatch} from '#src/schema/patch/touched-fields.js';
import {parsePatch, patchedObject, InvalidPatchResult, type PatchType} from '#src/schema/patch/patch.js';
import {patchedText} from '#src/schema/patch/patched-text.js';
import {applyStrategicPatch} from '#src/schema/patch/strategic-merge.js';
import type {SchemaNode} from '#src/schema/node.js';
import {fieldOrder} from '#src/schema/protobuf/field-order.js';
import {isStatus} from '#test/api/status-of.js';
import {createStrategicPatch} from './strategic-diff.js';
import {configMap, containers, generic, node, pod} from './patched-types.js';

const deployment = node('apps', 'Deployment');
const csr = node('certificates', 'CertificateSigningRequest');

const strategic: readonly [title: string, type: SchemaNode, live: PlainObject, patch: PlainObject, result: PlainObject][] = [
  ['maps merge and null deletes', configMap, {data: {a: '1', b: '2'}}, {data: {a: null, c: '3'}}, {data: {b: '2', c: '3'}}],
  [
    'lists of objects merge by their key',
    pod,
    containers({name: 'a', image: '1'}, {name: 'b', image: '1'}),
    containers({name: 'b', image: '2'}, {name: 'c', image: '3'}),
    containers({name: 'a', image: '1'}, {name: 'b', image: '2'}, {name: 'c', image: '3'}),
  ],
  [
    'inner lists merge by their own key',
    pod,
    containers({name: 'a', env: [{name: 'X', value: '1'}], args: ['a', 'b']}),
    containers({name: 'a', env: [{name: 'Y', value: '2'}], args: ['c']}),
    containers({
      name: 'a',
      env: [
        {name: 'Y', value: '2'},
        {name: 'X', value: '1'},
      ],
      args: ['c'],
    }),
  ],
  [
    'lists without a strategy are replaced',
    pod,
    {spec: {tolerations: [{key: 'a'}]}},
    {spec: {tolerations: [{key: 'b'}]}},
    {spec: {tolerations: [{key: 'b'}]}},
  ],
  [
    'lists of scalars that merge are sets',
    configMap,
    {metadata: {finalizers: ['a', 'b']}},
    {metadata: {finalizers: ['c', 'a']}},
    {metadata: {finalizers: ['c', 'a', 'b']}},
  ],
  [
    'conditions of a request are replaced',
    csr,
    {status: {conditions: [{type: 'A'}]}},
    {status: {conditions: [{type: 'B'}]}},
    {status: {conditions: [{type: 'B'}]}},
  ],
  ['$patch replace takes the patch alone', configMap, {data: {a: '1'}}, {data: {$patch: 'replace', b: '2'}}, {data: {b: '2'}}],
  ['$patch delete empties a map', configMap, {data: {a: '1'}}, {data: {$patch: 'delete'}}, {data: {}}],
  [
    '$patch delete removes an element',
    pod,
    containers({name: 'a'}, {name: 'b'}),
    containers({name: 'a', $patch: 'delete'}),
    containers({name: 'b'}),
  ],
  [
    '$patch replace replaces a list',
    pod,
    containers({name: 'a'}, {name: 'b'}),
    containers({$patch: 'replace'}, {name: 'c'}),
    containers({name: 'c'}),
  ],
  ['directives where nothing was leave nothing', configMap, {}, {data: {$patch: 'delete'}}, {}],
  [
    '$deleteFromPrimitiveList removes scalars',
    configMap,
    {metadata: {finalizers: ['a', 'b', 'c']}},
    {metadata: {'$deleteFromPrimitiveList/finalizers': ['a', 'c'], finalizers: ['d']}},
    {metadata: {finalizers: ['d', 'b']}},
  ],
  [
    '$setElementOrder orders what it names and keeps the others in place',
    pod,
    containers({name: 'a'}, {name: 'x'}, {name: 'b'}, {name: 'y'}),
    {spec: {'$setElementOrder/containers': [{name: 'b'}, {name: 'a'}, {name: 'n'}], containers: [{name: 'n'}]}},
    containers({name: 'x'}, {name: 'b'}, {name: 'a'}, {name: 'n'}, {name: 'y'}),
  ],
  [
    '$setElementOrder works for scalars',
    configMap,
    {metadata: {finalizers: ['a', 'b']}},
    {metadata: {'$setElementOrder/finalizers': ['b', 'c', 'a'], finalizers: ['c']}},
    {metadata: {finalizers: ['b', 'c', 'a']}},
  ],
  [
    '$retainKeys clears what it does not name',
    deployment,
    {spec: {strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 1}}}},
    {spec: {strategy: {$retainKeys: ['type'], type: 'Recreate'}}},
    {spec: {strategy: {type: 'Recreate'}}},
  ],
  [
    '$retainKeys works within an element',
    pod,
    {spec: {volumes: [{name: 'v', emptyDir: {}}]}},
    {spec: {volumes: [{name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: {path: '/'}}]}},
    {spec: {volumes: [{name: 'v', hostPath: {path: '/'}}]}},
  ],
];

for (const [title, type, live, patch, result] of strategic) {
  test(`strategic: ${title}`, t => {
    const [liveBefore, patchBefore] = [copied(live), copied(patch)];
    t.deepEqual(applyStrategicPatch(live, patch, type), result);
    t.deepEqual([live, patch], [liveBefore, patchBefore]);
  });
}

test('strategic patches that break their format are refused', t => {
  const apply =
    (live: PlainObject, patch: PlainObject, type = pod) =>
    () =>
      applyStrategicPatch(live, patch, type);

  isStatus(
    t,
    apply(containers({name: 'a'}), {spec: {'$setElementOrder/containers': [{name: 'a'}], containers: [{name: 'b'}]}}),
    500,
    '',
    /^The order in patch list:/,
  );
  isStatus(t, apply({}, {spec: {}, $setElementOrder: []}), 400, 'BadRequest', 'invalid patch format of setElementOrder list');
  isStatus(t, apply({}, {$deleteFromPrimitiveList: []}), 400, 'BadRequest', 'invalid patch format of primitive list');
  isStatus(t, apply({}, {$retainKeys: 'x'}), 400, 'BadRequest', 'invalid patch format of retainKeys');
  isStatus(t, apply({}, {$retainKeys: ['a'], b: 1}), 422, 'Invalid', generic);
  isStatus(t, apply(containers({name: 'a'}), containers([1])), 422, 'Invalid', generic);
  isStatus(
    t,
    apply(containers({name: 'a'}), containers({image: 'x'})),
    500,
    '',
    'map: map[image:x] does not contain declared merge key: name',
  );
  const nameless = containers({name: 'a'}, {name: null, image: 'x'});
  t.deepEqual(apply(containers({name: 'a'}), containers({name: null, image: 'x'}))(), containers(...nameless.spec.containers.toReversed()));
  isStatus(t, apply({data: {}}, {data: {$patch: 'x'}}, configMap), 500, '', 'unknown patch type: x in map: map[$patch:x]');
});

test('a created strategic patch leads from one object to the other', t => {
  const from = {
    metadata: {name: 'p', labels: {a: '1', b: '2'}, finalizers: ['x', 'y']},
    spec: {
      containers: [{name: 'a', image: '1', ports: [{containerPort: 80}]}, {name: 'b'}, {name: 'c'}],
      volumes: [{name: 'v', emptyDir: {}}],
      tolerations: [{key: 'a'}],
    },
  };
  const to = {
    metadata: {name: 'p', labels: {a: '1', c: '3'}, finalizers: ['z', 'y']},
    spec: {
      containers: [{name: 'c'}, {name: 'a', image: '2', ports: [{containerPort: 80}, {containerPort: 81}]}],
      volumes: [{name: 'v', hostPath: {path: '/'}}],
      nodeName: 'n',
    },
  };
  const patch = createStrategicPatch(from, to, pod);

  t.deepEqual(applyStrategicPatch(from, patch, pod), to);
  t.deepEqual(createStrategicPatch(from, from, pod), {});
  t.deepEqual((patch['spec'] as PlainObject)['$setElementOrder/containers'], [{name: 'c'}, {name: 'a'}]);
});

const patched = (type: PatchType, body: string, validation: 'Ignore' | 'Warn' | 'Strict' = 'Warn', live: PlainObject = {data: {a: '1'}}) =>
  patchedObject(parsePatch(type, body, validation), live, configMap, validation);

test('a patched object is held against its schema', t => {
  t.deepEqual(patched('json', '[{"op":"add","path":"/data/b","value":"2","x":1,"x":2},{"op":"add","path":"/bad","value":1}]'), {
    object: {data: {a: '1', b: '2'}},
    warnings: ['json patch unknown field "[0].x"', 'unknown field "bad"'],
  });
  t.deepEqual(patched('merge', '{"data":{"a":"1","a":"2"},"bad":1}').warnings, ['duplicate field "data.a"', 'unknown field "bad"']);
  t.deepEqual(patched('merge', '{"data":{"a":"1","a":"2"},"bad":1}', 'Ignore').warnings, []);
  t.deepEqual(structuredClone(patched('strategic', '{"data":{"a":null},"immutable":true}')), {object: {immutable: true}, warnings: []});
});

const misfitOf = (t: ExecutionContext, run: () => unknown) => t.throws(run, {instanceOf: InvalidPatchResult});

test('the result of a patch must be of the kind', t => {
  const misfit = misfitOf(t, () => patched('merge', '{"data":{"a":1}}'));
  t.is(misfit?.message, 'json: cannot unmarshal number into Go struct field ConfigMap.data of type string');
  t.deepEqual(misfit?.value, {data: {a: 1}});
  const unknown = misfitOf(t, () => patched('strategic', '{"x":1,"b":{"c":[2]}}', 'Strict'));
  t.is(unknown?.message, 'strict decoding error: unknown field "b", unknown field "x"');
  t.deepEqual(unknown?.shown, {text: 'map[b:map[c:[2]] x:1]'});
  t.true(misfitOf(t, () => patched('json', '[{"op":"replace","path":"","value":[]}]')) !== undefined);
});

test('a patched object is shown with sorted keys where the patch looked, and with its fields in order elsewhere', t => {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    spec: {
      nodeName: 'n',
      containers: [{image: 'i', env: [{value: 'v', name: 'e'}], envFrom: [], name: 'c'}],
      nodeSelector: {b: '<', a: '1'},
    },
    metadata: {labels: {z: '1', a: '2'}, name: 'p', managedFields: [{fieldsV1: {'f:b': {}, 'f:a': {}}, manager: 'm'}]},
  };
  const order = fieldOrder('v1', 'Pod', naming('kubernetes'));
  const spec = String.raw`"spec":{"containers":[{"name":"c","image":"i","envFrom":[],"env":[{"name":"e","value":"v"}]}],"nodeSelector":{"a":"1","b":"\u003c"},"nodeName":"n"}`;

  t.is(
    patchedText(pod, touchedByMergePatch({x: 1}), order),
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"2","z":"1"},"managedFields":[{"manager":"m","fieldsV1":{"f:b":{},"f:a":{}}}]},${spec}}`,
  );
  t.true(
    patchedText(pod, touchedByMergePatch({metadata: {labels: null}}), order).includes(
      '"metadata":{"labels":{"a":"2","z":"1"},"managedFields":[{',
    ),
  );
  t.true(
    patchedText(pod, touchedByMergePatch({spec: {containers: [{name: 'c', image: 'i', env: [{name: 'e', value: 'v'}]}]}}), order).includes(
      '"spec":{"containers":[{"env":[{"name":"e","value":"v"}],"envFrom":[],"image":"i","name":"c"}]',
    ),
  );
  t.true(
    patchedText(pod, touchedByJsonPatch([{op: 'add', path: '/spec/nodeName', value: 'n'}]), order).includes(
      '"spec":{"containers":[{"name":"c"',
    ),
  );
  t.true(
    patchedText(pod, touchedByJsonPatch([{op: 'test', path: '/spec/containers/0/name', value: 'c'}]), order).includes(
      '[{"env":[{"name":"e","value":"v"}],"envFrom":[],"image":"i"',
    ),
  );
  t.is(
    patchedText({kind: 'X', apiVersion: 'g/v1', b: {d: 1, c: 2}}, touchedByMergePatch({}), undefined),
    '{"apiVersion":"g/v1","b":{"c":2,"d":1},"kind":"X"}',
  );
  const {fields} = touchedByMergePatch({text: 'x', list: [1, {a: null}, 'x']});
  t.deepEqual([...fields.keys(), ...fields.get('list')!.fields.keys()], ['list', '1'], 'values without parts take no room');
});

for (const [patch, problem] of [
  [{spec: {replicas: 'a'}}, 'unrecognized type: int32'],
  [{spec: {replicas: 1.5}}, 'cannot convert float64 to int32'],
  [{spec: {paused: 'yes'}}, 'unrecognized type: bool'],
  [{spec: {template: {spec: {hostname: 5}}}}, 'cannot convert int64 to string'],
  [{spec: {strategy: {type: true}}}, 'unrecognized type: string'],
  [{spec: {template: 'a'}}, 'cannot restore struct from: string'],
  [{spec: {selector: {matchLabels: [1]}}}, 'cannot restore map from slice'],
  [{spec: {selector: {matchExpressions: {a: 1}}}}, 'cannot restore slice from map'],
  [{metadata: {creationTimestamp: 5}}, 'json: cannot unmarshal number into Go value of type string'],
] as const) {
  test(`a strategic patch of ${JSON.stringify(patch)} does not fit`, t => {
    const misfit = misfitOf(t, () => patchedObject(parsePatch('strategic', JSON.stringify(patch), 'Warn'), {}, deployment, 'Warn'));

    t.is(misfit?.message, problem);
  });
}

test('patches that cannot be read are refused', t => {
  isStatus(t, () => patched('json', '{'), 400, 'BadRequest', 'error decoding patch: unexpected end of JSON input');
  isStatus(
    t,
    () => patched('json', '{}'),
    400,
    'BadRequest',
    'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  );
  isStatus(
    t,
    () => patched('json', '[1]'),
    400,
    'BadRequest',
    'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp',
  );
  isStatus(t, () => patched('json', '{', 'Ignore'), 400, 'BadRequest', 'unexpected end of JSON input');
  isStatus(t, () => patched('merge', '[]', 'Ignore'), 400, 'BadRequest', 'Invalid JSON Patch');
  isStatus(
    t,
    () => patched('merge', '[]'),
    400,
    'BadRequest',
    'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  );
  isStatus(t, () => patched('strategic', 'x'), 400, 'BadRequest', "invalid character 'x' looking for beginning of value");
  const many = JSON.stringify(Array.from({length: 10_001}, () => ({op: 'test', path: '', value: {}})));
  isStatus(
    t,
    () => patched('json', many),
    413,
    'RequestEntityTooLarge',
    'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  );
});
