import test from 'ava';
import {agoFrom} from '#src/api/duration.js';
import {customColumns, selectableFields} from '#src/schema/custom/paths/columns.js';
import {scaleNumbers, setReplicas, validateScaleSpec, validateScaleStatus} from '#src/schema/custom/paths/scale.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {texts} from './custom-schemas.js';

const conditions = {
  status: {
    conditions: [
      {type: 'Synced', status: 'False'},
      {type: 'Ready', status: 'True', at: 3},
    ],
    n: 1.5,
    list: ['b', 'a'],
    '.dot': 1,
    nothing: null,
  },
  spec: {a: {x: 1}, b: {x: 2}},
  flag: true,
};

const columns: readonly [jsonPath: string, type: string, cell: unknown][] = [
  ['.status.conditions[?(@.type=="Ready")].status', 'string', 'True'],
  [".status.conditions[?(@.type=='Ready')].status", 'string', 'True'],
  ['.status.conditions[?(@.at>2)].type', 'string', 'Ready'],
  ['.status.conditions[?(@.at)].type', 'string', 'Ready'],
  ['.status.conditions[?(@.type=="No)ne")].status', 'string', null],
  ['.status.conditions[?(@.type!="Ready")].type', 'string', 'Synced'],
  ['.status.conditions[0].type', 'string', 'Synced'],
  ['.status.conditions[-1:].type', 'string', 'Ready'],
  ['.status.conditions[-1].type', 'string', 'Ready'],
  ['.status.conditions[5].type', 'string', null],
  ['.status.conditions[*].type', 'string', 'Synced'],
  [".status['list'][0,1]", 'string', 'b'],
  ['.status.list', 'string', '["b","a"]'],
  ['.spec', 'string', '{"a":{"x":1},"b":{"x":2}}'],
  [String.raw`.status['\.dot']`, 'integer', 1],
  ['..x', 'integer', 1],
  ['.status.n', 'integer', 1],
  ['.status.n', 'number', 1.5],
  ['.status.n', 'string', '1.5'],
  ['.status.n', 'boolean', null],
  ['.flag', 'boolean', true],
  ['.flag', 'string', 'true'],
  ['.status.nothing', 'string', '<no value>'],
  ['.status.nothing', 'integer', null],
  ['.status.absent', 'string', null],
  ['.flag[0]', 'string', null],
  ['.created', 'date', '2m'],
  ['.spec', 'date', null],
  ['.status.list[0]', 'date', '<invalid>'],
  ['.none', 'other', null],
];

for (const [jsonPath, type, cell] of columns) {
  test(`a column shows the ${type} at ${jsonPath}`, t => {
    const [column] = customColumns([{name: 'X', type, jsonPath}]);

    t.is(column?.of({...conditions, created: '2026-01-01T00:00:00Z'}, agoFrom(Date.parse('2026-01-01T00:02:00Z'))), cell as string | null);
  });
}

test('a column of integers shows numbers beyond 64 bits as the least, and larger ones than 2^53 to the digit', t => {
  const [column] = customColumns([{name: 'X', type: 'integer', jsonPath: '.n'}]);
  const cells = [1e300, -1e19, 2 ** 62, -1.5].map(n => String(column!.of({n}, agoFrom(0))));

  t.deepEqual(cells, ['-9223372036854775808', '-9223372036854775808', '4611686018427387904', '-1']);
});

test('columns end at the first whose path cannot be read, and describe themselves', t => {
  const read = customColumns(['.a', '.b[x]', '.c'].map(jsonPath => ({name: jsonPath, type: 'string', jsonPath})));

  t.deepEqual(
    read.map(({name, description}) => [name, description]),
    [['.a', 'Custom resource definition column (in JSONPath format): .a']],
  );
  for (const jsonPath of ['.a[', '.a[?(@.b', '.a[?(@.b)', '.a[1:2:3:4]', '.a[-]', '#', '.a["x', '....'])
    t.deepEqual(customColumns([{name: 'X', type: 'string', jsonPath}]), [], jsonPath);
});

test('fields that select read as texts', t => {
  const fields = selectableFields(['.spec.name', '.spec.on', '.spec.count', '.spec.none']);

  t.deepEqual(
    [...fields].map(([name, of]) => [name, of({spec: {name: 'x', on: true, count: 3}})]),
    [
      ['spec.name', 'x'],
      ['spec.on', 'true'],
      ['spec.count', '3'],
      ['spec.none', ''],
    ],
  );
});

const scale = {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector'};

const scales: readonly [object: PlainObject, errors: readonly string[]][] = [
  [{spec: {replicas: 3}, status: {replicas: 2, selector: 'a=b'}}, []],
  [{}, []],
  [{spec: {replicas: -1}}, ['.spec.replicas: Invalid value: -1: should be a non-negative integer']],
  [{spec: {replicas: 2 ** 31}}, ['.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647']],
  [{spec: {replicas: 'x'}}, ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64']],
  [{spec: 5}, ['.spec.replicas: Invalid value: 0: .spec.replicas accessor error: 5 is of the type int64, expected map[string]interface{}']],
  [
    {status: {selector: {a: [1, null]}}},
    [
      '.status.selector: Invalid value: "": .status.selector accessor error: map[a:[1 <nil>]] is of the type map[string]interface {}, expected string',
    ],
  ],
];

for (const [object, errors] of scales) {
  test(`a scale reads whole numbers: ${JSON.stringify(object)}`, t => {
    t.deepEqual(texts([...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)]), errors);
  });
}

test('a scale is read and set at the paths of the definition', t => {
  const object: PlainObject = {status: {replicas: 2, selector: 'a=b'}};
  t.deepEqual(scaleNumbers(object, scale), {specReplicas: 0, isSet: false, statusReplicas: 2, selector: 'a=b'});

  setReplicas(object, scale, 4);

  t.deepEqual(object['spec'], {replicas: 4});
  t.throws(() => setReplicas({spec: 'x'}, scale, 4), {message: 'value cannot be set because .spec is not a map[string]interface{}'});
  t.throws(() => scaleNumbers({spec: {replicas: 'x'}}, scale), {
    message: '.spec.replicas accessor error: x is of the type string, expected int64',
  });
});
