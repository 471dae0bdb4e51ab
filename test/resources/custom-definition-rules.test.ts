import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {gate, testUpdates, testCreations, keepsOnCreation, warnsOnCreation, type Given, type Creation} from './rule-table.js';
import {internalSchema} from '#src/resources/apiextensions/internal-form.js';
import {refusal, startEnvironment} from './environment.js';

const kind = kinds.customResourceDefinitions;

const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const mixed = `may have mixed case, but should otherwise match: ${label}`;
const at = (path: string, texts: readonly string[]): string[] => texts.map(text => `${path}${text}`);

let count = 0;
const plain = {type: 'object'};
const version = (more: object = {}) => ({name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: plain}, ...more});

/** A valid definition with the given fields; each has a name of its own. */
const a = (spec: Record<string, unknown> = {}, metadata: object = {}): Given => {
  const plural = `things${count++}`;
  const {names, group = 'example.com', ...rest} = spec;
  const all = {plural, kind: `Thing${count}`, ...(names as object | undefined)};
  return {
    metadata: {name: `${all.plural}.${group as string}`, ...metadata},
    spec: {group, scope: 'Namespaced', versions: [version()], ...rest, names: all},
  };
};

test('a schema is returned with its empty fields, and without a list of schemas where one is for all items', t => {
  const {Items, AllOf, Definitions, Enum, OneOf} = internalSchema({
    type: 'array',
    items: {type: 'string'},
    allOf: [],
    definitions: {},
    enum: [],
  });

  t.deepEqual([(Items as {JSONSchemas: unknown}).JSONSchemas, AllOf, Definitions, Enum, OneOf], [null, [], {}, [], null]);
});

const named = (names: object): Given => a({names}, {});
const versions = (...list: object[]): Given => a({versions: list});
const schema = (openAPIV3Schema: object, more: object = {}): Given => versions(version({schema: {openAPIV3Schema}, ...more}));
/** A schema with one property, `p`. */
const property = (p: object, more: object = {}): Given => schema({type: 'object', properties: {p}, ...more});

const form = (name: string, more: object = {}): string =>
  JSON.stringify({
    Name: name,
    Served: true,
    Storage: true,
    Deprecated: false,
    DeprecationWarning: null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
    ...more,
  });

testCreations(kind, [
  ['a plain one', a(), []],
  [
    'versions that differ in empty fields',
    versions(
      version({schema: {openAPIV3Schema: {...plain, properties: {a: {}}}}}),
      version({name: 'v2', storage: false, schema: {openAPIV3Schema: {...plain, properties: {b: {}}}}}),
    ),
    [
      'spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
      'spec.versions[1].schema.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified object fields',
    ],
  ],
  [
    'one without anything',
    {metadata: {name: 'a.b'}, spec: {}},
    [
      'metadata.name: Invalid value: "a.b": must be spec.names.plural+"."+spec.group',
      'spec.group: Required value',
      'spec.scope: Required value',
      'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
      'spec.names.plural: Required value',
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
      'status.storedVersions: Invalid value: null: must have at least one stored version',
    ],
  ],
  [
    'a name that is not made of its two parts',
    a({}, {name: 'other.example.com'}),
    ['metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group'],
  ],
  ['a group of one word', a({group: 'example'}), ['spec.group: Invalid value: "example": should be a domain with at least one dot']],
  ['an odd scope', a({scope: 'Everywhere'}), ['spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"']],
  [
    'odd names',
    named({plural: 'things', singular: 'A', kind: '1', listKind: 'B_', shortNames: ['x', 'Y'], categories: ['all', '_']}),
    at('spec.names.', [
      `singular: Invalid value: "A": ${label}`,
      `kind: Invalid value: "1": ${mixed}`,
      `listKind: Invalid value: "B_": ${mixed}`,
      `shortNames[1]: Invalid value: "Y": ${label}`,
      `categories[1]: Invalid value: "_": ${label}`,
    ]),
  ],
  [
    'a kind that lists are of, too',
    named({kind: 'Same', listKind: 'Same'}),
    ['spec.names.listKind: Invalid value: "Same": kind and listKind may not be the same'],
  ],

  [
    'two stored versions of one name',
    versions(version(), version()),
    [
      `spec.versions: Invalid value: [${form('v1')},${form('v1')}]: must contain unique version names`,
      `spec.versions: Invalid value: [${form('v1')},${form('v1')}]: must have exactly one version marked as storage version`,
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1',
    ],
  ],
  [
    'two versions that are stored',
    versions(version(), version({name: 'v2'})),
    [
      `spec.versions: Invalid value: [${form('v1')},${form('v2')}]: must have exactly one version marked as storage version`,
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    ],
  ],
  [
    'no version that is stored',
    versions(version({storage: false})),
    [
      `spec.versions: Invalid value: [${form('v1', {Storage: false})}]: must have exactly one version marked as storage version`,
      'status.storedVersions: Invalid value: null: must have at least one stored version',
    ],
  ],
  [
    'a version twice',
    versions(version(), version({storage: false})),
    [`spec.versions: Invalid value: [${form('v1')},${form('v1', {Storage: false})}]: must contain unique version names`],
  ],
  [
    'an odd version',
    versions(version({name: '1'})),
    [`spec.versions[0].name: Invalid value: "1": ${label}`, `spec.version: Invalid value: "1": ${label}`],
  ],
  [
    'a version without a schema',
    versions(version(), {name: 'v2', served: false, storage: false}),
    ['spec.versions[1].schema.openAPIV3Schema: Required value'],
  ],
  [
    'a warning of a version that is not deprecated',
    versions(version({deprecationWarning: 'x'})),
    ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
  ],
  [
    'a warning without words',
    versions(version({deprecated: true, deprecationWarning: ''})),
    ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
  ],
  [
    'a long warning with a bell',
    versions(version({deprecated: true, deprecationWarning: `é\u0007${'x'.repeat(255)}`})),
    [
      `spec.versions[0].deprecationWarning: Invalid value: "é\\a${'x'.repeat(255)}": must be <= 256 characters long`,
      `spec.versions[0].deprecationWarning: Invalid value: "é\\a${'x'.repeat(255)}": must only contain printable UTF-8 characters; non-printable character found at index 2`,
    ],
  ],
  ['a warning', versions(version({deprecated: true, deprecationWarning: 'use – v2!'})), []],

  [
    'columns without anything, and odd ones',
    versions(
      version({
        additionalPrinterColumns: [
          {},
          {name: 'a', type: 'text', format: 'long', jsonPath: 'a'},
          {name: 'b', type: 'date', format: 'date-time', jsonPath: '.a'},
        ],
      }),
    ),
    at('spec.additionalPrinterColumns', [
      '[0].name: Required value',
      '[0].type: Required value: must be one of boolean,date,integer,number,string',
      '[0].JSONPath: Required value',
      '[1].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
      '[1].format: Invalid value: "long": must be one of byte,date,date-time,double,float,int32,int64,password',
      '[1].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ]),
  ],
  [
    'columns of one of two versions',
    versions(version(), version({name: 'v2', storage: false, additionalPrinterColumns: [{type: 'string', jsonPath: '.a'}]})),
    ['spec.versions[1].additionalPrinterColumns[0].name: Required value'],
  ],
  [
    'a scale without paths',
    versions(version({subresources: {scale: {}}})),
    at('spec.subresources.scale.', ['specReplicasPath: Required value', 'statusReplicasPath: Required value']),
  ],
  [
    'a scale with odd paths',
    versions(version({subresources: {scale: {specReplicasPath: 'spec.a', statusReplicasPath: '.spec.a', labelSelectorPath: '.a'}}})),
    at('spec.subresources.scale.', [
      'specReplicasPath: Invalid value: "spec.a": must be a simple json path starting with .',
      'statusReplicasPath: Invalid value: ".spec.a": should be a json path under .status',
      'labelSelectorPath: Invalid value: ".a": should be a json path under either .spec or .status',
    ]),
  ],
  [
    'a scale',
    versions(
      version({
        subresources: {status: {}, scale: {specReplicasPath: '.spec.a', statusReplicasPath: '.status.a', labelSelectorPath: '.spec.b'}},
      }),
    ),
    [],
  ],

  [
    'a conversion of no way',
    a({conversion: {strategy: 'Magic'}}),
    ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
  ],
  [
    'a conversion with fields of another strategy',
    a({conversion: {strategy: 'None', webhook: {conversionReviewVersions: ['v1'], clientConfig: {url: 'https://a'}}}}),
    at('spec.conversion.', [
      'webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook',
      'conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
    ]),
  ],
  [
    'a conversion webhook without an address',
    a({conversion: {strategy: 'Webhook'}}),
    at('spec.conversion.', [
      'webhookClientConfig: Required value: required when strategy is set to Webhook',
      'conversionReviewVersions: Required value',
    ]),
  ],
  [
    'a conversion webhook with two addresses',
    a({
      conversion: {
        strategy: 'Webhook',
        webhook: {conversionReviewVersions: ['v2', 'v2', 'X'], clientConfig: {url: 'https://a', service: {name: 'a', namespace: 'b'}}},
      },
    }),
    at('spec.conversion.', [
      'webhookClientConfig: Required value: exactly one of url or service is required',
      'conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
      `conversionReviewVersions[2]: Invalid value: "X": ${label}`,
      'conversionReviewVersions: Invalid value: ["v2","v2","X"]: must include at least one of v1, v1beta1',
    ]),
  ],
  [
    'a conversion at a plain place',
    a({conversion: {strategy: 'Webhook', webhook: {conversionReviewVersions: ['v1'], clientConfig: {url: 'http://a'}}}}),
    [
      'spec.conversion.webhookClientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
    ],
  ],
  [
    'a conversion with a bundle that can still be put right',
    a({conversion: {strategy: 'Webhook', webhook: {conversionReviewVersions: ['v1'], clientConfig: {url: 'https://a', caBundle: 'Cg=='}}}}),
    [],
  ],

  [
    'a protected group without approval',
    a({group: 'team.plat.io'}),
    [
      'metadata.annotations[api-approved.plat.io]: Required value: protected groups must have approval annotation "api-approved.plat.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ],
  [
    'a protected group with odd approval',
    a({group: 'plat.io'}, {annotations: {'api-approved.plat.io': 'yes'}}),
    [
      'metadata.annotations[api-approved.plat.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.plat.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ],
  ['a protected group with a page', a({group: 'plat.io'}, {annotations: {'api-approved.plat.io': 'https://example.com/1'}}), []],
  ['a protected group marked as unapproved', a({group: 'plat.io'}, {annotations: {'api-approved.plat.io': 'unapproved, for a test'}}), []],
  ['a group that looks like a protected one', a({group: 'explat.io'}), []],
  [
    'unknown fields that are preserved',
    a({preserveUnknownFields: true}),
    [
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ],
]);

const root = 'spec.validation.openAPIV3Schema';
const p = `${root}.properties[p]`;
const ofSet = 'x-kubernetes-list-type=set';
const list = (items: object, more: object = {}) => ({type: 'array', items, ...more});
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

const established = {
  acceptedNames: {plural: 'fixeds', kind: 'Fixed'},
  storedVersions: ['v1'],
  conditions: [{type: 'Established', status: 'True'}],
};
const fixed = (n: number, spec: object = {}): Given => a({names: {plural: `fixed${n}`, kind: 'Fixed'}, ...spec});
const specOf = (given: Given): object => given['spec'] as object;

testUpdates(kind, [
  ['what is not served yet', fixed(0), {spec: specOf(fixed(0, {scope: 'Cluster', names: {plural: 'fixed0', kind: 'Other'}}))}, []],
  [
    'what is served',
    fixed(1),
    {spec: specOf(fixed(1, {scope: 'Cluster', names: {plural: 'fixed1', kind: 'Other'}}))},
    ['spec.scope: Invalid value: "Cluster": field is immutable', 'spec.names.kind: Invalid value: "Other": field is immutable'],
    {status: established},
  ],
  [
    'its group and plural',
    fixed(2),
    {spec: specOf(a({group: 'example.org', names: {plural: 'others', kind: 'Fixed'}}))},
    ['spec.group: Invalid value: "example.org": field is immutable', 'spec.names.plural: Invalid value: "others": field is immutable'],
  ],
  [
    'versions without one that objects may still be stored in',
    fixed(3),
    {spec: specOf(fixed(3, {versions: [version({name: 'v2'})]}))},
    [
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ],
  ],
  ['another version to store in', fixed(4), {spec: specOf(fixed(4, {versions: [version({storage: false}), version({name: 'v2'})]}))}, []],
  [
    'a bundle that is served with',
    fixed(5),
    {
      spec: specOf(
        fixed(5, {
          conversion: {
            strategy: 'Webhook',
            webhook: {conversionReviewVersions: ['v1'], clientConfig: {url: 'https://a', caBundle: 'Cg=='}},
          },
        }),
      ),
    },
    [
      'spec.conversion.webhookClientConfig.caBundle: Invalid value: "Cg==": unable to load root certificates: unable to parse bytes as PEM block',
    ],
    {status: established},
  ],
  [
    'approval that goes',
    a({group: 'plat.io', names: {plural: 'fixed6'}}, {annotations: {'api-approved.plat.io': 'unapproved'}}),
    {metadata: {annotations: {}}},
    [
      'metadata.annotations[api-approved.plat.io]: Required value: protected groups must have approval annotation "api-approved.plat.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ],
  ['its finalizers, of any name', fixed(7), {metadata: {finalizers: ['plain.example.com']}}, []],
  [
    'names in its status that are none',
    fixed(8),
    {status: {acceptedNames: {plural: '-', kind: 'K'}, storedVersions: ['v1']}},
    [`status.acceptedNames.plural: Invalid value: "-": ${label}`],
    {subresource: 'status'},
  ],
]);

warnsOnCreation(kind, [
  [
    'formats that are known',
    schema({
      type: 'object',
      properties: {
        a: {type: 'string', format: 'date-time'},
        b: {type: 'integer', format: 'odd'},
        c: {type: 'string', format: 'k8s-short-name'},
      },
    }),
    [],
  ],
  [
    'unknown formats',
    schema({type: 'object', properties: {a: {type: 'string', format: 'phone'}, b: list({type: 'string', format: 'car'})}}),
    ['unrecognized format "phone"', 'unrecognized format "car"'],
  ],
]);

keepsOnCreation(kind, [
  [
    'a status in the body is ignored',
    {...fixed(20), status: {storedVersions: ['v9'], observedGeneration: 5, conditions: [{type: 'Established', status: 'True'}]}},
    {status: {conditions: null, acceptedNames: {plural: '', kind: ''}, storedVersions: ['v1']}},
  ],
  [
    'what is empty is left out',
    a({
      names: {plural: 'empties', kind: 'Empty', listKind: ''},
      preserveUnknownFields: false,
      conversion: {strategy: 'None', webhook: {}},
      versions: [
        version({
          deprecated: false,
          additionalPrinterColumns: [{name: 'A', type: 'string', jsonPath: '.a', format: '', description: '', priority: 0}],
          schema: {
            openAPIV3Schema: {
              ...plain,
              description: '',
              title: '',
              format: '',
              pattern: '',
              nullable: false,
              uniqueItems: false,
              exclusiveMinimum: false,
              'x-kubernetes-embedded-resource': false,
              'x-kubernetes-validations': [{rule: 'true', message: '', fieldPath: ''}],
            },
          },
        }),
      ],
    }),
    {
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        versions: [
          version({
            additionalPrinterColumns: [{name: 'A', type: 'string', jsonPath: '.a'}],
            schema: {openAPIV3Schema: {...plain, 'x-kubernetes-validations': [{rule: 'true'}]}},
          }),
        ],
        names: {plural: 'empties', kind: 'Empty', singular: 'empty', listKind: 'EmptyList'},
        conversion: {strategy: 'None'},
      },
    },
  ],
  [
    'names, conversion and ports are filled in',
    a({
      names: {plural: 'filled', kind: 'FillEd'},
      conversion: {strategy: 'Webhook', webhook: {conversionReviewVersions: ['v1'], clientConfig: {service: {name: 'a', namespace: 'b'}}}},
    }),
    {
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        versions: [version()],
        names: {plural: 'filled', kind: 'FillEd', singular: 'filled', listKind: 'FillEdList'},
        conversion: {
          strategy: 'Webhook',
          webhook: {conversionReviewVersions: ['v1'], clientConfig: {service: {name: 'a', namespace: 'b', port: 443}}},
        },
      },
    },
  ],
]);

const levels = (inner: object) => property({type: 'array', items: {type: 'object', additionalProperties: inner}});

keepsOnCreation(kind, [
  [
    'unknown fields are dropped at every depth',
    {
      ...fixed(21),
      spec: {
        ...specOf(fixed(21)),
        versions: [
          version({
            schema: {
              openAPIV3Schema: {
                type: 'object',
                odd: 1,
                properties: {
                  p: {type: 'array', items: {type: 'object', odd: 1, additionalProperties: {type: 'string', odd: 1, default: 'x'}}},
                },
              },
            },
          }),
        ],
      },
    },
    {
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        versions: [
          version({
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {p: {type: 'array', items: {type: 'object', additionalProperties: {type: 'string', default: 'x'}}}},
              },
            },
          }),
        ],
        names: {plural: 'fixed21', kind: 'Fixed', singular: 'fixed', listKind: 'FixedList'},
        conversion: {strategy: 'None'},
      },
    },
  ],
]);

for (const on of [[], ['CRDObservedGenerationTracking']]) {
  test(`generations reported by a controller are kept, ${on.length > 0 ? 'with' : 'without'} the gate`, async t => {
    const {of} = await startEnvironment({gate: gate(on)});
    const definitions = of(kind);
    const reported = {observedGeneration: 1, conditions: [{type: 'Own', status: 'True', observedGeneration: 1}]};
    const made = await definitions.create(a() as never);
    const stored = await definitions.update({...made, status: {...made.status, ...reported}} as never, {subresource: 'status'});
    const changed = await definitions.patch(made.metadata!.name!, 'merge', {metadata: {labels: {a: 'b'}}});

    t.like(stored.status, reported);
    t.deepEqual(changed.status, stored.status);
  });
}

test('extensions of schemas are understood in the spelling of either naming', async t => {
  const {of} = await startEnvironment();
  const given = property({type: 'array', 'x-plat-list-type': 'set', items: {'x-plat-int-or-string': true}});
  const {spec} = await of(kind).create(given as never);

  t.deepEqual(spec.versions[0]!.schema!.openAPIV3Schema!.properties!['p'], {
    type: 'array',
    'x-kubernetes-list-type': 'set',
    items: {'x-kubernetes-int-or-string': true},
  } as never);
});

for (const [title, given, message] of [
  ['a type that is a number', levels({type: 5}), 'json: cannot unmarshal number into Go struct field JSONSchemaProps.type of type string'],
  ['neither a schema nor a truth value', levels('x' as unknown as object), 'boolean or JSON schema expected'],
] as const) {
  test(`a schema with ${title} deep inside cannot be read`, async t => {
    const {of} = await startEnvironment();
    const {message: output, code} = await refusal(of(kind).create(given as never));

    t.is(code, 400);
    t.true(output?.endsWith(`: ${message}`), output);
  });
}

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
const texts = (more: object = {}) => ({type: 'array', items: {type: 'string'}, ...more});
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
