import {testCreations} from './rule-table.js';
import {at, kind, list, p, plain, property, root, schema, version, versions} from './custom-definitions.js';

const ofSet = 'x-kubernetes-list-type=set';
const mapList = (keys: readonly string[] | undefined, items: object | undefined) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  ...(keys ? {'x-kubernetes-list-map-keys': keys} : {}),
  ...(items ? {items} : {}),
});

testCreations(kind, [
  ['a schema without a type', schema({}), [`${root}.type: Required value: must not be empty at the root`]],
  ['a schema of a text', schema({type: 'string'}), [`${root}.type: Invalid value: "string": must be object at the root`]],
  [
    'a schema that may be nothing',
    schema({type: 'object', nullable: true}),
    [`${root}.nullable: Forbidden: nullable cannot be true at the root`],
  ],
  [
    'a schema of a map',
    schema({type: 'object', additionalProperties: {type: 'string'}}),
    [`${root}.additionalProperties: Forbidden: must not be used at the root`],
  ],
  [
    'fields and items without a type',
    schema({type: 'object', properties: {a: {}, b: list({})}}),
    at(`${root}.properties`, [
      '[a].type: Required value: must not be empty for specified object fields',
      '[b].items.type: Required value: must not be empty for specified array items',
    ]),
  ],
  [
    'a type that there is not',
    property({type: 'text'}),
    [`${p}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`],
  ],
  [
    'the type of nothing',
    property({type: 'null'}),
    at(p, [
      '.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
      '.type: Forbidden: type cannot be set to null, use nullable as an alternative',
    ]),
  ],
  ['a list of anything', property({type: 'array'}), [`${p}.items: Required value: must be specified`]],
  [
    'a list of one thing each',
    property({type: 'array', items: [{type: 'string'}]}),
    [`${p}.items: Forbidden: items must be a schema object and not an array`],
  ],
  [
    'keywords that are not supported',
    property({
      type: 'object',
      id: 'a',
      $ref: '#/a',
      additionalItems: true,
      patternProperties: {a: plain},
      definitions: {a: plain},
      dependencies: {a: ['b']},
      uniqueItems: true,
    }),
    at(p, [
      '.id: Forbidden: id is not supported',
      '.additionalItems: Forbidden: additionalItems is not supported',
      '.patternProperties: Forbidden: patternProperties is not supported',
      '.definitions: Forbidden: definitions is not supported',
      '.dependencies: Forbidden: dependencies is not supported',
      '.$ref: Forbidden: $ref is not supported',
      '.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ]),
  ],
  [
    'a schema with $schema',
    property({type: 'object', $schema: 'x'}),
    [`${root}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`],
  ],
  [
    'fields and more',
    property({type: 'object', properties: {a: plain}, additionalProperties: false}),
    [`${p}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
  ],
  ['fields and anything', property({type: 'object', properties: {a: plain}, additionalProperties: true}), []],
  [
    'a pattern that is none',
    property({type: 'string', pattern: 'a('}),
    [`${p}.pattern: Invalid value: "a(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`a(\``],
  ],
  [
    'unknown fields that are not kept',
    property({type: 'object', 'x-kubernetes-preserve-unknown-fields': false}),
    [`${p}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`],
  ],
  ['a number or a text', property({'x-kubernetes-int-or-string': true}), []],
  [
    'a number or a string, declared twice',
    property({'x-kubernetes-int-or-string': true, anyOf: [{type: 'integer'}, {type: 'string'}]}),
    [],
  ],
  [
    'a number or a text, and more',
    property({'x-kubernetes-int-or-string': true, allOf: [{anyOf: [{type: 'integer'}, {type: 'string'}]}, {pattern: 'a'}]}),
    [],
  ],
  [
    'a number or a text in another order',
    property({'x-kubernetes-int-or-string': true, anyOf: [{type: 'string'}, {type: 'integer'}]}),
    at(p, ['.anyOf[0].type: Forbidden: must be empty to be structural', '.anyOf[1].type: Forbidden: must be empty to be structural']),
  ],
  [
    'a number or a text that is more',
    property({
      type: 'object',
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-embedded-resource': true,
    }),
    at(p, [
      '.x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
      '.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
    ]),
  ],
  [
    'conditions that give structure',
    property({
      type: 'object',
      properties: {a: {type: 'string'}},
      oneOf: [
        {
          type: 'object',
          default: {},
          title: 'a',
          description: 'b',
          nullable: true,
          additionalProperties: true,
          'x-kubernetes-preserve-unknown-fields': true,
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-int-or-string': true,
          'x-kubernetes-list-map-keys': ['a'],
          'x-kubernetes-list-type': 'atomic',
          'x-kubernetes-map-type': 'atomic',
          'x-kubernetes-validations': [{rule: 'true'}],
        },
      ],
    }),
    [
      ...at(`${p}.oneOf[0].`, [
        'additionalProperties: Forbidden: must be undefined to be structural',
        'default: Forbidden: must be undefined to be structural',
        'description: Forbidden: must be empty to be structural',
        'nullable: Forbidden: must be false to be structural',
        'title: Forbidden: must be empty to be structural',
        'type: Forbidden: must be empty to be structural',
        'x-kubernetes-embedded-resource: Forbidden: must be false to be structural',
        'x-kubernetes-int-or-string: Forbidden: must be false to be structural',
        'x-kubernetes-list-map-keys: Forbidden: must be empty to be structural',
        'x-kubernetes-list-type: Forbidden: must be undefined to be structural',
        'x-kubernetes-map-type: Forbidden: must be undefined to be structural',
        'x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural',
        'x-kubernetes-validations: Forbidden: must be empty to be structural',
      ]),
      `${p}.oneOf[0].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified`,
      `${p}.oneOf[0].x-kubernetes-list-type: Invalid value: "atomic": must be map if x-kubernetes-list-map-keys is non-empty`,
    ],
  ],
  [
    'conditions on what is not there',
    schema({
      type: 'object',
      properties: {p: plain},
      not: {properties: {p: {properties: {q: {items: {minLength: 1}}}}, metadata: {required: ['x']}}},
    }),
    at(root, [
      '.not.properties[metadata]: Forbidden: must not be specified in a nested context',
      `.properties[metadata]: Required value: because it is defined in ${root}.not.properties[metadata]`,
      `.properties[p].properties[q]: Required value: because it is defined in ${root}.not.properties[p].properties[q]`,
    ]),
  ],
  [
    'fields of every object that are something else',
    schema({
      type: 'object',
      properties: {kind: {type: 'integer'}, apiVersion: {type: 'integer'}, metadata: {type: 'string', properties: {labels: plain}}},
    }),
    at(`${root}.properties`, [
      '[apiVersion].type: Invalid value: "integer": must be string',
      '[kind].type: Invalid value: "integer": must be string',
      '[metadata].type: Invalid value: "string": must be object',
      '[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ]),
  ],
  [
    'names with a form',
    schema({
      type: 'object',
      properties: {metadata: {type: 'object', properties: {name: {type: 'string', maxLength: 5}, generateName: {type: 'string'}}}},
    }),
    [],
  ],
  [
    'an object in an object',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {metadata: {type: 'object', properties: {labels: {type: 'object'}}}},
    }),
    [],
  ],
  [
    'an object in an object that is a text',
    property({type: 'string', 'x-kubernetes-embedded-resource': true}),
    at(p, [
      '.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      '.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
    ]),
  ],
  [
    'an object in an object that is a map',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      additionalProperties: plain,
    }),
    [`${p}.additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set`],
  ],
  [
    'an object in the metadata of an object',
    property({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {
        metadata: {
          type: 'object',
          properties: {a: {type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true}},
        },
      },
    }),
    [`${p}.properties[metadata].properties[a].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta`],
  ],

  [
    'kinds of maps and lists that are neither',
    schema({
      type: 'object',
      properties: {a: {type: 'string', 'x-kubernetes-map-type': 'odd'}, b: {type: 'string', 'x-kubernetes-list-type': 'odd'}},
    }),
    at(`${root}.properties`, [
      '[a].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
      '[a].x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular"',
      '[b].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
      '[b].x-kubernetes-list-type: Unsupported value: "odd": supported values: "atomic", "set", "map"',
    ]),
  ],
  [
    'keys of what is no map',
    schema({
      type: 'object',
      properties: {
        a: list(plain, {'x-kubernetes-list-map-keys': ['k']}),
        b: list(plain, {'x-kubernetes-list-type': 'atomic', 'x-kubernetes-list-map-keys': ['k']}),
      },
    }),
    at(`${root}.properties`, [
      '[a].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty',
      '[b].x-kubernetes-list-type: Invalid value: "atomic": must be map if x-kubernetes-list-map-keys is non-empty',
    ]),
  ],
  [
    'sets of objects and lists',
    schema({
      type: 'object',
      properties: {
        a: list(plain, {'x-kubernetes-list-type': 'set'}),
        b: list(list({type: 'string'}, {'x-kubernetes-list-type': 'set'}), {'x-kubernetes-list-type': 'set'}),
      },
    }),
    at(`${root}.properties`, [
      `[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with ${ofSet}`,
      `[b].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with ${ofSet}`,
    ]),
  ],
  [
    'sets of single values',
    schema({
      type: 'object',
      properties: {
        a: list({type: 'string'}, {'x-kubernetes-list-type': 'set'}),
        b: list({type: 'object', 'x-kubernetes-map-type': 'atomic'}, {'x-kubernetes-list-type': 'set'}),
      },
    }),
    [],
  ],
  [
    'a map without keys',
    property(mapList(undefined, {type: 'string'})),
    at(p, [
      '.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
      '.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
    ]),
  ],
  [
    'a map with odd keys',
    property(mapList(['a', 'b', 'b', 'c'], {type: 'object', required: ['b', 'c'], properties: {b: {type: 'string'}, c: {type: 'object'}}})),
    at(p, [
      '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: entries must all be names of item properties',
      '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: must not contain duplicate entries',
      '.items.properties[c].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
    ]),
  ],
  [
    'a map whose keys may be missing',
    property(
      mapList(['a', 'b', 'c'], {
        type: 'object',
        nullable: true,
        required: ['b'],
        properties: {a: {type: 'string'}, b: {type: 'string', nullable: true}, c: {type: 'string', default: 'x'}},
      }),
    ),
    at(p, [
      '.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map',
      '.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      '.items.properties[b].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
    ]),
  ],

  [
    'rules without words',
    property({
      type: 'string',
      'x-kubernetes-validations': [
        {rule: ' '},
        {rule: 'a', message: ' '},
        {rule: 'a', message: 'a\nb'},
        {rule: 'a\nb'},
        {rule: 'a', messageExpression: ' '},
        {rule: 'a', reason: 'Odd'},
      ],
    }),
    at(`${p}.x-kubernetes-validations`, [
      '[0].rule: Required value: rule is not specified',
      '[1].message: Invalid value: " ": must be non-empty if specified',
      '[2].message: Invalid value: "a\\nb": must not contain line breaks',
      '[3].message: Required value: message must be specified if rule contains line breaks',
      '[4].messageExpression: Required value: messageExpression must be non-empty if specified',
      '[5].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ]),
  ],
  [
    'rules about fields that are not there',
    property({
      type: 'object',
      properties: {a: plain, 'b.c': {type: 'object', additionalProperties: {type: 'string'}}},
      'x-kubernetes-validations': [
        {rule: 'true', fieldPath: '.a'},
        {rule: 'true', fieldPath: ' '},
        {rule: 'true', fieldPath: '.x'},
        {rule: 'true', fieldPath: "['b.c']['any']"},
        {rule: 'true', fieldPath: 'a'},
        {rule: 'true', fieldPath: '.a\n'},
      ],
    }),
    at(`${p}.x-kubernetes-validations`, [
      '[1].fieldPath: Invalid value: " ": must be non-empty if specified',
      '[1].fieldPath: Invalid value: " ": must be a valid path',
      '[2].fieldPath: Invalid value: ".x": must be a valid path',
      '[4].fieldPath: Invalid value: "a": must be a valid path',
      '[5].fieldPath: Invalid value: ".a\\n": must not contain line breaks',
      '[5].fieldPath: Invalid value: ".a\\n": must be a valid path',
    ]),
  ],
  [
    'more than a status schema may have',
    schema({type: 'object', maxProperties: 5}, {subresources: {status: {}}}),
    [
      `${root}: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":5,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled`,
    ],
  ],
  [
    'an empty reference where none is allowed',
    schema({type: 'object', $ref: ''}, {subresources: {status: {}}}),
    [
      `${root}: Invalid value: {"ID":"","Schema":"","Ref":"","Description":"","Type":"object","Nullable":false,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled`,
      `${root}.$ref: Forbidden: $ref is not supported`,
    ],
  ],
  [
    'a schema that differs between versions',
    versions(version({schema: {openAPIV3Schema: {}}}), version({name: 'v2', storage: false})),
    ['spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root'],
  ],
]);
