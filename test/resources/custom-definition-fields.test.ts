import {testCreations, type Given} from './rule-table.js';
import {at, kind, list, p, plain, property, root, schema} from './custom-definitions.js';

const nested = (levels: number): object => (levels === 0 ? {type: 'string'} : {type: 'array', items: nested(levels - 1)});

testCreations(kind, [
  ['a schema of many levels', property(nested(63)), []],
  [
    'a schema of more levels than are looked at',
    property(nested(64)),
    [`${root}: Forbidden: schemas must not be nested more than 64 levels deep`],
  ],
  [
    'defaults of every kind',
    schema({
      type: 'object',
      properties: {
        a: {type: 'string', default: 'x'},
        b: list({type: 'integer', default: 1}, {default: [1, 2]}),
        c: {type: 'object', default: {d: 'e'}, properties: {d: {type: 'string'}}},
      },
    }),
    [],
  ],
  ['dependencies that are none', property({...plain, dependencies: {}}), [`${p}.dependencies: Forbidden: dependencies is not supported`]],
  [
    'a default that is neither number nor text',
    property({...plain, default: {a: true}, properties: {a: {'x-kubernetes-int-or-string': true, default: 1.5}}}),
    [],
  ],
  [
    'a default that is neither a number nor a string where types are declared',
    property({'x-kubernetes-int-or-string': true, anyOf: [{type: 'integer'}, {type: 'string'}], default: true}),
    [
      `${p}.default: Invalid value: "": "" must validate at least one schema (anyOf)`,
      `${p}.default: Invalid value: "boolean":  in body must be of type integer: "boolean"`,
    ],
  ],
  [
    'a default of another type',
    property({type: 'integer', default: 'x'}),
    [`${p}.default: Invalid value: "string":  in body must be of type integer: "string"`],
  ],
  [
    'a default with another default inside',
    property({type: 'object', default: {a: 5}, properties: {a: {type: 'string', maxLength: 3, default: 'long'}}}),
    [
      `${p}.default.a: Invalid value: "integer": a in body must be of type string: "integer"`,
      `${p}.properties[a].default: Too long: may not be more than 3 bytes`,
    ],
  ],
  [
    'a default with unknown fields',
    property({type: 'object', default: {a: 'x', b: 'y'}, properties: {a: {type: 'string'}}}),
    [`${p}.default: Invalid value: {"a":"x","b":"y"}: must not have unknown fields`],
  ],
  [
    'a default with unknown fields that are kept',
    property({type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: {a: 'x', b: 'y'}, properties: {a: {type: 'string'}}}),
    [],
  ],
  [
    'defaults of what every object has',
    schema({
      type: 'object',
      properties: {
        metadata: {type: 'object', properties: {name: {type: 'string', default: 'x'}}},
        kind: {type: 'string', default: 'Thing'},
      },
    }),
    [
      `${root}.properties[kind].default: Forbidden: must not be set in top-level kind`,
      `${root}.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata`,
    ],
  ],
  [
    'an embedded object as a default',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      default: {apiVersion: 'a/b/c', metadata: {name: 'a/b'}},
    }),
    [
      `${p}.default.kind: Required value`,
      `${p}.default.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
      `${p}.default.metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
  ],
  [
    'a default in the metadata of an embedded object',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {
        metadata: {
          type: 'object',
          properties: {name: {type: 'string', default: 'a/b'}, finalizers: list({type: 'string'}, {default: ['example.com/a']})},
        },
      },
    }),
    [
      `${p}.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
  ],
  [
    'a default of the labels of an embedded object',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {
        metadata: {type: 'object', properties: {labels: {type: 'object', additionalProperties: {type: 'string', default: 'x'}}}},
      },
    }),
    [
      `${p}.properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata`,
    ],
  ],
]);

const selectable = (
  paths: readonly string[],
  properties: object = {
    a: {type: 'string'},
    b: {type: 'object', properties: {c: {type: 'integer'}}},
    d: list({type: 'string'}),
    metadata: {type: 'object', properties: {name: {type: 'string'}}},
  },
): Given => schema({type: 'object', properties}, {selectableFields: paths.map(jsonPath => ({jsonPath}))});

const letters = Object.fromEntries([...'abcdefghi'].map(name => [name, {type: 'boolean'}]));

testCreations(kind, [
  ['fields to select by', selectable(['.a', '.b.c']), []],
  [
    'odd fields to select by',
    selectable(['', 'a', '.x', '.d', '.a', '.a', ".b['c']", '.metadata.name', '.b.']),
    at('spec.selectableFields', [
      '[0].jsonPath: Required value',
      '[1].jsonPath: Invalid value: "a": is an invalid path: expected [ or . but got: a',
      '[2].jsonPath: Invalid value: ".x": is an invalid path: does not refer to a valid field',
      '[3].jsonPath: Invalid value: ".d": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      '[5].jsonPath: Duplicate value: ".a"',
      '[6].jsonPath: Invalid value: ".b[\'c\']": is an invalid path: array notation is not allowed',
      '[7].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
      '[8].jsonPath: Invalid value: ".b.": is an invalid path: unexpected end of JSON path',
    ]),
  ],
  [
    'nine fields to select by',
    selectable(
      [...'abcdefghi'].map(name => `.${name}`),
      letters,
    ),
    ['spec.selectableFields: Too many: 9: must have at most 8 items'],
  ],
]);
