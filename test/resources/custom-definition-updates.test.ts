import test from 'ava';
import {gate, testUpdates, keepsOnCreation, warnsOnCreation} from './rule-table.js';
import {refusal, startEnvironment} from './environment.js';
import {a, fixed, kind, label, list, plain, property, schema, specOf, version} from './custom-definitions.js';

const established = {
  acceptedNames: {plural: 'fixeds', kind: 'Fixed'},
  storedVersions: ['v1'],
  conditions: [{type: 'Established', status: 'True'}],
};

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
