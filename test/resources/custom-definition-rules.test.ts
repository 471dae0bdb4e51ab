import test from 'ava';
import {internalSchema} from '#src/resources/apiextensions/internal-form.js';
import {testCreations, type Given} from './rule-table.js';
import {a, at, kind, label, plain, version, versions} from './custom-definitions.js';

const mixed = `may have mixed case, but should otherwise match: ${label}`;
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
