import test from 'ava';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {texts} from './custom-schemas.js';
import {aSchema, has, ports, withSpec} from './custom-objects.js';

const wrongType = (wanted: string, given: string) => [
  `spec: Invalid value: ${JSON.stringify(given)}: spec in body must be of type ${wanted}: ${JSON.stringify(given)}`,
];

const values: readonly [title: string, spec: JsonSchema, value: unknown, errors: readonly string[]][] = [
  ['a text for a whole number', {type: 'integer'}, 'x', wrongType('integer', 'string')],
  ['a whole number for a text', {type: 'string'}, 5, wrongType('string', 'integer')],
  ['a fraction for a whole number', {type: 'integer'}, 1.5, wrongType('integer', 'number')],
  ['a whole number for a number', {type: 'number'}, 5, []],
  ['a list for an object', {type: 'object'}, [], wrongType('object', 'array')],
  ['an object for a list', {type: 'array', items: {type: 'string'}}, {}, wrongType('array', 'object')],
  [
    'a truth value for a text with a format',
    {type: 'string', format: 'date-time'},
    true,
    ['spec: Invalid value: "": spec in body must be of type date-time: ""'],
  ],
  [
    'a number for a text with a format',
    {type: 'string', format: 'date'},
    5,
    ['spec: Invalid value: "int64": spec in body must be of type date: "int64"'],
  ],
  ['a list for a text with a format, which goes unseen', {type: 'string', format: 'date'}, [], []],
  ['nothing where something must be', {type: 'string'}, null, wrongType('string', 'null')],
  ['nothing where nothing may be', {type: 'string', nullable: true}, null, []],
  [
    'nothing where one of some values must be',
    {type: 'string', nullable: true, enum: ['a']},
    null,
    ['spec: Unsupported value: null: supported values: "a"'],
  ],
  ['neither a number nor a text', {'x-kubernetes-int-or-string': true}, true, wrongType('integer,string', 'boolean')],
  ['a number or a text', {'x-kubernetes-int-or-string': true}, '10%', []],
  ['an unsupported value', {type: 'string', enum: ['a', 'b']}, 'c', ['spec: Unsupported value: "c": supported values: "a", "b"']],
  ['an unsupported number', {type: 'integer', enum: [1, 2]}, 3, ['spec: Unsupported value: 3: supported values: "1", "2"']],
  ['a supported number', {type: 'integer', enum: [1, 2]}, 2, []],
  ['a long text', {type: 'string', maxLength: 3}, 'abcd', ['spec: Too long: may not be more than 3 bytes']],
  ['letters outside the first plane, each of which counts once', {type: 'string', maxLength: 2, minLength: 2}, '😀😀', []],
  ['a short text', {type: 'string', minLength: 2}, 'a', ['spec: Invalid value: "a": spec in body should be at least 2 chars long']],
  [
    'a text of another pattern',
    {type: 'string', pattern: '^[a-z]+$'},
    'A',
    ['spec: Invalid value: "A": spec in body should match \'^[a-z]+$\''],
  ],
  ['a pattern with flags', {type: 'string', pattern: '^(?i)a$'}, 'A', []],
  [
    'a pattern that is none',
    {type: 'string', pattern: '('},
    'A',
    ['spec: Invalid value: "A": spec in body should match \'(, but pattern is invalid: error parsing regexp: missing closing ): `(`\''],
  ],
  [
    'a pattern that backtracking would never finish',
    {type: 'string', pattern: '^(a+)+$'},
    `${'a'.repeat(50)}b`,
    [`spec: Invalid value: "${'a'.repeat(50)}b": spec in body should match '^(a+)+$'`],
  ],
  ['a small number', {type: 'integer', minimum: 1}, 0, ['spec: Invalid value: 0: spec in body should be greater than or equal to 1']],
  [
    'a number at an exclusive bound',
    {type: 'integer', minimum: 1, exclusiveMinimum: true},
    1,
    ['spec: Invalid value: 1: spec in body should be greater than 1'],
  ],
  [
    'a large number',
    {type: 'number', maximum: 0.00001},
    0.5,
    ['spec: Invalid value: 0.5: spec in body should be less than or equal to 1e-05'],
  ],
  [
    'a number at an exclusive upper bound',
    {type: 'integer', maximum: 3, exclusiveMaximum: true},
    3,
    ['spec: Invalid value: 3: spec in body should be less than 3'],
  ],
  ['no multiple', {type: 'integer', multipleOf: 2}, 3, ['spec: Invalid value: 3: spec in body should be a multiple of 2']],
  ['a multiple of a fraction', {type: 'number', multipleOf: 0.1}, 0.3, []],
  [
    'a whole number for a multiple of a fraction',
    {type: 'number', multipleOf: 0.5},
    3,
    ['spec: Invalid value: 0: factor MultipleOf declared for spec must be positive: 0'],
  ],
  ['too many items', {type: 'array', items: {type: 'string'}, maxItems: 1}, ['a', 'b'], ['spec: Too many: 2: must have at most 1 item']],
  [
    'too few items',
    {type: 'array', items: {type: 'string'}, minItems: 1},
    [],
    ['spec: Invalid value: 0: spec in body should have at least 1 items'],
  ],
  [
    'an item twice',
    {type: 'array', items: {type: 'object'}, uniqueItems: true},
    [
      {a: 1, b: 2},
      {b: 2, a: 1},
    ],
    ['spec: Invalid value: "": spec in body shouldn\'t contain duplicates'],
  ],
  [
    'a wrong item',
    {type: 'array', items: {type: 'string'}},
    ['a', 1],
    ['spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer"'],
  ],
  [
    'too many fields',
    {type: 'object', additionalProperties: {type: 'string'}, maxProperties: 1},
    {a: '', b: ''},
    ['spec: Too many: 2: must have at most 1 item'],
  ],
  [
    'too few fields',
    {type: 'object', additionalProperties: {type: 'string'}, minProperties: 1},
    {},
    ['spec: Invalid value: 0: spec in body should have at least 1 properties'],
  ],
  [
    'a wrong value of a map',
    {type: 'object', additionalProperties: {type: 'string'}},
    {a: 1},
    ['spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"'],
  ],
  ['a field that is not there', has({a: {type: 'string'}}, {required: ['a']}), {}, ['spec.a: Required value']],
  [
    'a field named like one every object has',
    has({}, {required: ['toString', '__proto__']}),
    {},
    ['spec.toString: Required value', 'spec.__proto__: Required value'],
  ],
  [
    'none of some alternatives',
    {type: 'object', anyOf: [{required: ['a']}, {required: ['b']}]},
    {},
    ['<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)', 'spec.a: Required value'],
  ],
  [
    'none of exclusive alternatives',
    {type: 'object', oneOf: [{required: ['a']}, {required: ['b'], minProperties: 0, properties: {c: {type: 'string'}}}]},
    {c: 'x'},
    ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid', 'spec.b: Required value'],
  ],
  [
    'several of exclusive alternatives',
    {type: 'object', oneOf: [{required: ['a']}, {required: ['b']}]},
    {a: 1, b: 1},
    ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  ],
  [
    'one of all schemas',
    {type: 'object', allOf: [{required: ['a']}, {required: ['b']}]},
    {a: 1},
    ['spec.b: Required value', '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)'],
  ],
  [
    'a schema that must not hold',
    {type: 'object', not: {required: ['a']}},
    {a: 1},
    ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
  ],
  ['an unknown format', {type: 'string', format: 'semver'}, 'x', []],
  ['a whole number of 64 bits', {type: 'integer', minimum: 1, multipleOf: 7, enum: [9223372036854775807n]}, 9223372036854775807n, []],
  [
    'a whole number of 64 bits above a limit',
    {type: 'integer', maximum: 5},
    9223372036854775807n,
    ['spec: Invalid value: 9223372036854775807: spec in body should be less than or equal to 5'],
  ],
  ['a large number that need not be whole', {type: 'number'}, 1e17, []],
  ['a format of numbers, which bounds nothing', {type: 'integer', format: 'int32'}, 3_000_000_000, []],
  [
    'a format of numbers, which is ignored',
    {type: 'integer', format: 'int32'},
    1.5,
    ['spec: Invalid value: "number": spec in body must be of type integer: "number"'],
  ],
  [
    'a fraction that is large',
    {type: 'number', maximum: 1e7},
    20_000_000.5,
    ['spec: Invalid value: 2.00000005e+07: spec in body should be less than or equal to 1e+07'],
  ],
  [
    'a whole number that is large',
    {type: 'number', maximum: 1e7},
    20_000_000,
    ['spec: Invalid value: 20000000: spec in body should be less than or equal to 10000000'],
  ],
];

for (const [title, spec, value, errors] of values) {
  test(`a value is validated with the wording of the original: ${title}`, t => {
    t.deepEqual(texts(withSpec(spec).validate({spec: value})), errors);
  });
}

test('the object as a whole has no path', t => {
  t.deepEqual(texts(aSchema({type: 'object', required: ['spec']}).validate({})), ['spec: Required value']);
  t.deepEqual(texts(aSchema({type: 'object', minProperties: 2}).validate({a: 1})), [
    '<nil>: Invalid value: 1:  in body should have at least 2 properties',
  ]);
});

test('at most a thousand errors are reported', t => {
  t.is(withSpec({type: 'array', items: {type: 'string'}}).validate({spec: Array(5000).fill(1)}).length, 1000);
});

const formats: readonly [format: string, good: readonly string[], bad: readonly string[]][] = [
  [
    'date-time',
    ['2014-12-15T19:30:20.000Z', '2014-12-15t19:30:20+01:00'],
    ['2014-12-15', '2014-13-15T19:30:20Z', '2014-12-15T24:30:20Z', ''],
  ],
  ['datetime', ['2014-12-15T19:30:20Z'], ['x']],
  ['date', ['2024-02-29'], ['2023-02-29', '2024-2-9', '2024-02-00']],
  ['duration', ['1h30m', '22 ns', '3 days', '-1.5h', '0'], ['', 'x', '5 parsecs', '1'.repeat(2000)]],
  ['byte', ['YQ==', 'YWJj'], ['', 'YQ', 'Y*==', 'YQ=A']],
  ['ipv4', ['1.2.3.4', '01.2.3.4', '::ffff:1.2.3.4'], ['1.2.3', '::1', '1.2.3.256']],
  ['ipv6', ['::1', 'fe80::1'], ['1.2.3.4', '::1%eth0', ':::1']],
  ['cidr', ['10.0.0.0/8', '::/0'], ['10.0.0.0', '10.0.0.0/33']],
  ['mac', ['01:23:45:67:89:ab', '01-23-45-67-89-AB', '0123.4567.89ab'], ['01:23:45:67:89', '01:23-45:67:89:ab']],
  ['email', ['a@b', 'Some One <a.b@c.d>', '"x y"@z', '"Q" <a@b>'], ['a', 'a@', '@b', 'a..b@c', 'a@b c', '<a@b', 'a@b, c@d']],
  [
    'uri',
    ['http://foo.bar/#com', '/abs/dir', '//', 'mailto:a@b', 'http://[::1]:80/', 'http://user:pass@h/'],
    ['', 'foobar.com', './rel', 'http://a b/', 'http://h/%zz', 'http://h:x/'],
  ],
  ['hostname', ['a', 'example.com', 'a-b.c-d.org', '1.co'], ['', '-a', 'a.b', 'a_b.com', `${'a'.repeat(64)}.com`]],
  ['uuid', ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'], ['x', '123e4567']],
  ['uuid3', ['123e4567-e89b-32d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
  ['uuid4', ['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-42d3-1456-426614174000']],
  ['uuid5', ['123e4567-e89b-52d3-b456-426614174000'], ['123e4567-e89b-42d3-a456-426614174000']],
  ['isbn', ['3836221195', '978-4-87311-368-5', '3 401 01319 X'], ['3423214121', '978-3836221192']],
  ['isbn10', ['1-61729-085-8'], ['9784873113685']],
  ['isbn13', ['9784873113685'], ['3836221195']],
  ['creditcard', ['4220 8554 2622 2389', '5139288802098206'], ['4220855426213389', 'credit card']],
  ['ssn', ['123-45-6789'], ['123456789', '123-45-678a']],
  ['hexcolor', ['#fff', 'CCccCC'], ['fff0', '#ff']],
  ['rgbcolor', ['rgb(0,  31, 255)'], ['rgb(1,349,275)', 'rgb(01,31,255)']],
  ['bsonobjectid', ['507f1f77bcf86cd799439011'], ['507f1f77bcf86cd79943901']],
  ['password', ['', 'x'], []],
  ['k8s-short-name', ['a-1'], ['A', 'a.b', 'a'.repeat(64)]],
  ['k8s-long-name', ['a.b-c'], ['a..b', 'a.B']],
];

for (const [format, good, bad] of formats) {
  test(`the format ${format} is known`, t => {
    const schema = withSpec({type: 'string', format});
    t.deepEqual(
      good.filter(text => schema.validate({spec: text}).length > 0),
      [],
    );
    for (const text of bad)
      t.deepEqual(texts(schema.validate({spec: text})), [
        `spec: Invalid value: ${JSON.stringify(text)}: spec in body must be of type ${format}: ${JSON.stringify(text)}`,
      ]);
  });
}

const changes: readonly [title: string, old: unknown, spec: unknown, errors: readonly string[]][] = [
  ['what was wrong may stay', {mode: 'x', ports: []}, {mode: 'x', ports: [{name: 'a', port: 1}]}, []],
  [
    'what was wrong may not become wrong in another way',
    {mode: 'x'},
    {mode: 'y'},
    ['spec.mode: Unsupported value: "y": supported values: "a"'],
  ],
  ['what is new must be right', {}, {mode: 'y'}, ['spec.mode: Unsupported value: "y": supported values: "a"']],
  [
    'items of keyed lists are found by their keys',
    {ports: [{name: 'a', port: 99}]},
    {
      ports: [
        {name: 'b', port: 1},
        {name: 'a', port: 99},
      ],
    },
    [],
  ],
  [
    'a changed item of a keyed list must be right',
    {ports: [{name: 'a', port: 99}]},
    {ports: [{name: 'a', port: 98}]},
    ['spec.ports[0].port: Invalid value: 98: spec.ports[0].port in body should be less than or equal to 10'],
  ],
  ['items of sets are not matched', {tags: ['aa']}, {tags: ['aa', 'b']}, ['spec.tags[0]: Too long: may not be more than 1 byte']],
  ['a whole list that is as it was may be wrong', {tags: ['aa']}, {tags: ['aa'], mode: 'a'}, []],
  ['a repeated item may stay', {tags: ['a', 'a']}, {tags: ['a', 'a', 'b']}, []],
];

for (const [title, old, spec, errors] of changes) {
  test(`an update is compared with the old object: ${title}`, t => {
    t.deepEqual(texts(withSpec(ports).validate({spec}, {spec: old})), errors);
  });
}

test('an error in an alternative is not ratcheted by an unchanged part alone', t => {
  const schema = withSpec(has({a: {type: 'string'}, b: {type: 'string'}}, {anyOf: [{properties: {a: {enum: ['x']}}}]}));

  t.is(schema.validate({spec: {a: 'y', b: 'new'}}, {spec: {a: 'y'}}).length, 2);
  t.deepEqual(schema.validate({spec: {a: 'y'}}, {spec: {a: 'y'}}), []);
});

test('a status update validates the status alone, with its path', t => {
  const schema = aSchema(has({spec: {type: 'string'}, status: has({phase: {type: 'string'}}, {anyOf: [{required: ['phase']}]})}));

  t.deepEqual(texts(schema.validateStatus({spec: 1, status: {phase: 1}}, {})), [
    'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
  ]);
  t.deepEqual(texts(schema.validateStatus({spec: 1, status: {}}, {})), [
    'status: Invalid value: "": "" must validate at least one schema (anyOf)',
    'status.phase: Required value',
  ]);
  t.deepEqual(schema.validateStatus({spec: 1, status: {phase: 1}}, {status: {phase: 1}}), []);
  t.deepEqual(schema.validateStatus({spec: 1}, {}), []);
});

const lists: readonly [title: string, list: JsonSchema, value: readonly unknown[], errors: readonly string[]][] = [
  ['a set', {'x-kubernetes-list-type': 'set'}, ['a', 'b', 'a', 'a'], ['spec[2]: Duplicate value: "a"']],
  [
    'a set of objects',
    {'x-kubernetes-list-type': 'set'},
    [
      {a: 1, b: 1},
      {b: 1, a: 1},
    ],
    ['spec[1]: Duplicate value: {"a":1,"b":1}'],
  ],
  [
    'a list with one key',
    {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a']},
    [{a: 1, b: 1}, {a: 1}, {}, {}],
    ['spec[1]: Duplicate value: {"a":1}', 'spec[3]: Duplicate value: {}'],
  ],
  [
    'a list with two keys',
    {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b']},
    [
      {a: 1, b: 1},
      {a: 1, b: 2},
      {b: 1, a: 1},
    ],
    ['spec[2]: Duplicate value: {"a":1,"b":1}'],
  ],
  [
    'a stranger in a keyed list',
    {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a']},
    [null, 'x'],
    ['spec[1]: Invalid value: "x": must be an object for an array of list-type map'],
  ],
];

for (const [title, list, value, errors] of lists) {
  test(`items may be there once: ${title}`, t => {
    t.deepEqual(texts(withSpec({type: 'array', ...list}).validate({spec: value})), errors);
  });
}
