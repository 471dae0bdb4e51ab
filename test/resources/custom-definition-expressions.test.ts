import {testUpdates, testCreations, type Given, type Creation} from './rule-table.js';
import {fixed, kind, list, p, property, root, schema, specOf, texts, version} from './custom-definitions.js';

const ruled = (rule: object | string, of: object = {type: 'object', properties: {a: {type: 'integer'}, 'x-y': {type: 'string'}}}): Given =>
  property({...of, 'x-kubernetes-validations': [typeof rule === 'string' ? {rule} : rule]});

const rules = `${p}.x-kubernetes-validations[0]`;
const shown = (rule: string, more: object = {}): string =>
  JSON.stringify({Rule: rule, Message: '', MessageExpression: '', Reason: null, FieldPath: '', OptionalOldSelf: null, ...more}).replaceAll(
    '>',
    String.raw`\u003e`,
  );

const needsList = {
  type: 'array',
  items: {type: 'object', properties: {a: {type: 'integer'}}, 'x-kubernetes-validations': [{rule: 'self.a >= oldSelf.a'}]},
};

testCreations(kind, [
  [
    'rules that mean something',
    schema({
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            a: {type: 'integer'},
            b: list({type: 'string'}, {maxItems: 9}),
            'c-d': {type: 'object', additionalProperties: {type: 'string'}},
          },
        },
      },
      'x-kubernetes-validations': [
        {rule: 'self.metadata.name.size() < 20 && self.spec.a > 0', messageExpression: '"wrong: " + self.metadata.name'},
        {rule: 'self.spec.b.all(x, x != "") && self.spec.c__dash__d.exists(k, k == "a")'},
        {rule: 'oldSelf.spec.a <= self.spec.a'},
      ],
    }),
    [],
  ],
  [
    'a rule about a field that is not there',
    ruled('self.b > 1'),
    [
      `${rules}.rule: Invalid value: ${shown('self.b > 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^`,
    ],
  ],
  [
    'a rule of two types',
    ruled('self.a == "x"'),
    [
      `${rules}.rule: Invalid value: ${shown('self.a == "x"')}: compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.a == "x"\n | .......^`,
    ],
  ],
  [
    'a rule that is a number',
    ruled('self.a'),
    [`${rules}.rule: Invalid value: ${shown('self.a')}: cel expression must evaluate to a bool`],
  ],
  [
    'a message that is no text',
    ruled({rule: 'self.a > 1', messageExpression: 'self.a'}),
    [
      `${rules}.messageExpression: Invalid value: ${shown('self.a > 1', {MessageExpression: 'self.a'})}: messageExpression must evaluate to a string`,
    ],
  ],
  [
    'a message about a field that is not there',
    ruled({rule: 'self.a > 1', messageExpression: 'self.b'}),
    [
      `${rules}.messageExpression: Invalid value: ${shown('self.a > 1', {MessageExpression: 'self.b'})}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b\n | ....^`,
    ],
  ],
  [
    'a rule that may be new and is none',
    ruled({rule: 'oldSelf.a.b', optionalOldSelf: true}),
    [
      `${rules}.rule: Invalid value: {"Rule":"oldSelf.a.b","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":true}: compilation failed: ERROR: <input>:1:10: type 'int' does not support field selection\n | oldSelf.a.b\n | .........^`,
      `${rules}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ],
  ],
  [
    'a rule about what was, where there is none',
    ruled({rule: 'self.a > 1', optionalOldSelf: true}),
    [`${rules}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`],
  ],
  [
    'a rule about what was in a list without keys',
    property(needsList),
    [
      `${p}.items.x-kubernetes-validations[0].rule: Invalid value: "self.a >= oldSelf.a": oldSelf cannot be used on the uncorrelatable portion of the schema within ${p}`,
    ],
  ],
  [
    'a rule about what was in a map',
    property({
      ...needsList,
      items: {...needsList.items, required: ['a']},
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    }),
    [],
  ],
  [
    'a rule over a schema that is not in order',
    ruled('self.b', {type: 'object', properties: {a: {}}}),
    [`${p}.properties[a].type: Required value: must not be empty for specified object fields`],
  ],
  [
    'a default that a rule refuses',
    ruled({rule: 'self.a > 1', message: 'must be more'}, {type: 'object', default: {a: 1}, properties: {a: {type: 'integer'}}}),
    [`${p}.default: Invalid value: must be more`],
  ],
  [
    'a default that may not be new',
    ruled({rule: 'oldSelf.hasValue()', optionalOldSelf: true}, {type: 'object', default: {a: 1}, properties: {a: {type: 'integer'}}}),
    [`${p}.default: Invalid value: failed rule: oldSelf.hasValue()`],
  ],
  [
    'a default within one that a rule refuses',
    ruled({rule: 'self.a > 1'}, {type: 'object', default: {}, properties: {a: {type: 'integer', default: 1}}}),
    [`${p}.default: Invalid value: "object": no such key: a evaluating rule: self.a > 1`],
  ],
  ['a rule that calls what a library has', ruled('quantity("1k").isGreaterThan(quantity("1"))'), []],
]);

testUpdates(kind, [
  [
    'its rules to one that means nothing',
    fixed(30),
    {
      spec: specOf(
        fixed(30, {versions: [version({schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-validations': [{rule: 'nothing'}]}}})]}),
      ),
    },
    [
      `${root}.x-kubernetes-validations[0].rule: Invalid value: ${shown('nothing')}: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^`,
    ],
  ],
]);

const hint = '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
const everyPair = [{rule: 'self.all(x, self.all(y, x == y))'}];
const exceeds = (what: string, factor: string): string => `${what} exceeds budget by factor of ${factor} ${hint}`;
const contributed = 'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
const total = (factor: string): string =>
  `${root}: Forbidden: ${exceeds('x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema', factor)}`;

const twice = (value: object, {maxItems, maxProperties}: {maxItems?: number; maxProperties?: number} = {}) => ({
  type: 'array',
  ...(maxItems ? {maxItems} : {}),
  items: {
    type: 'object',
    ...(maxProperties ? {maxProperties} : {}),
    additionalProperties: {type: 'object', required: ['key'], properties: {key: value}},
  },
  'x-kubernetes-validations': [{rule: 'self.all(x, x.all(y, x[y].key == x[y].key))'}],
});

const tooDear = (factor: string): readonly string[] => [
  `${rules}.rule: Forbidden: ${exceeds('estimated rule cost', 'more than 100x')}`,
  `${rules}.rule: ${contributed}`,
  total(factor),
];

const keyword = {type: 'string', maxLength: 5000, 'x-kubernetes-validations': [{rule: "self.contains('keyword')"}]};

testCreations(kind, [
  ['a rule with nested loops without limits', property({...texts(), 'x-kubernetes-validations': everyPair}), tooDear('more than 100x')],
  [
    'the same with limits',
    property({...texts({maxItems: 10, items: {type: 'string', maxLength: 10}}), 'x-kubernetes-validations': everyPair}),
    [],
  ],
  ['a rule about maps in a list without limit', property(twice({type: 'string'})), tooDear('more than 100x')],
  ['a rule about short texts in maps in a list without limit', property(twice({type: 'string', maxLength: 10})), tooDear('more than 100x')],
  ['the same with a limit everywhere', property(twice({type: 'string', maxLength: 10}, {maxItems: 10, maxProperties: 10})), []],
  ['the same with a limit on the outermost list', property(twice({type: 'number'}, {maxItems: 4})), []],
  ['a rule that is evaluated once', property({type: 'integer', 'x-kubernetes-validations': [{rule: 'self < 1024'}]}), []],
  [
    'rules that are too much together',
    schema({
      type: 'object',
      properties: {
        field: {type: 'integer', 'x-kubernetes-validations': [{rule: 'self > 50 && self < 100'}]},
        list: list(keyword, {maxItems: 100_000}),
        map: {type: 'object', maxProperties: 1000, additionalProperties: keyword},
      },
    }),
    [
      `${root}.properties[list].items.x-kubernetes-validations[0].rule: Forbidden: ${exceeds('estimated rule cost', '20.0x')}`,
      `${root}.properties[list].items.x-kubernetes-validations[0].rule: ${contributed}`,
      `${root}.properties[map].additionalProperties.x-kubernetes-validations[0].rule: ${contributed}`,
      total('2.0x'),
    ],
  ],
  [
    'a message of long texts',
    property({
      ...texts({maxItems: 10}),
      'x-kubernetes-validations': [
        {rule: 'true', messageExpression: 'self[0] + self[1] + self[2] + self[3] + self[4] + self[5] + self[6] + self[7]'},
      ],
    }),
    [`${rules}.messageExpression: Forbidden: ${exceeds('estimated messageExpression cost', '1.101006x')}`],
  ],
  [
    'a message of texts that may be of any length',
    property({...texts(), 'x-kubernetes-validations': [{rule: 'true', messageExpression: 'string(self[0]) + string(self[1])'}]}),
    [
      `${rules}.messageExpression: Forbidden: ${exceeds('estimated messageExpression cost', 'more than 100x')}`,
      `${rules}.messageExpression: ${contributed}`,
      total('more than 100x'),
    ],
  ],
]);

// The original panics over these and drops the connection.
testCreations(
  kind,
  (
    [
      ['$ref', 'x'],
      ['id', 'x'],
      ['definitions', {a: {type: 'string'}}],
      ['dependencies', {a: ['b']}],
      ['patternProperties', {a: {type: 'string'}}],
      ['additionalItems', true],
    ] as const
  ).map(([keyword, value]): Creation => [
    `${keyword} beside a rule`,
    ruled('self.a > 1', {type: 'object', properties: {a: {type: 'integer'}}, [keyword]: value}),
    [`${p}.${keyword}: Forbidden: ${keyword} is not supported`],
  ]),
);
