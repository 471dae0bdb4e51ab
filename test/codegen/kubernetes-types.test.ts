import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {parseDeclarations} from '#src/codegen/declarations/parse.js';
import {definitionsOf} from '#src/codegen/definitions/definitions.js';
import {withDescriptions} from '#src/codegen/definitions/descriptions.js';
import {Scope} from '#src/codegen/definitions/scope.js';
import type {Definition} from '#src/codegen/kind-tags.js';
import {KubernetesTypes} from '#src/codegen/kubernetes/types.js';
import {typeModules} from '#src/codegen/types/modules.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {startServer} from '#test/fixtures/server.js';

const definitionIn = (text: string): Definition => {
  const scope = new Scope(path => (path === 'a.ts' ? parseDeclarations(path, text) : undefined));
  return definitionsOf([scope.file('a.ts')!], scope, 'apiextensions.k8s.io/v1')[0]!.definition;
};

/** The schema of the property `p` of a kind, with the names of `operator/kinds` that it uses. */
const schemaOf = (property: string, names: string): JsonSchema => {
  const {spec} = definitionIn(`import type {${names}} from '@platio/plat/operator/kinds';
    /** @group example.com\n * @version v1 */ export interface Thing { ${property} }`);
  return (spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema).properties!['p']!;
};

const bare = (schema: JsonSchema): JsonSchema => {
  const definition = {spec: {versions: [{schema: {openAPIV3Schema: schema}}]}} as unknown as Definition;
  return withDescriptions(definition, 0).spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema;
};

test('every type that operator/kinds exports for fields has a schema', t => {
  const source = readFileSync('src/api/components/component-types.ts', 'utf8');
  const names = [...source.matchAll(/^export type (\w+)/gm)].map(([, name]) => name!);
  const types = new KubernetesTypes();

  t.true(names.length > 40);
  t.deepEqual(
    names.filter(name => !types.of(name, '@platio/plat/operator/kinds')),
    [],
  );
});

const alternatives = {anyOf: [{type: 'integer'}, {type: 'string'}], 'x-kubernetes-int-or-string': true} as const;
const pattern = '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

const cases: readonly [property: string, names: string, expected: JsonSchema][] = [
  [
    'p: SecretKeySelector',
    'SecretKeySelector',
    {
      type: 'object',
      properties: {key: {type: 'string'}, name: {type: 'string', default: ''}, optional: {type: 'boolean'}},
      required: ['key'],
      'x-kubernetes-map-type': 'atomic',
    },
  ],
  [
    'p: Toleration[]',
    'Toleration',
    {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          effect: {type: 'string'},
          key: {type: 'string'},
          operator: {type: 'string'},
          tolerationSeconds: {type: 'integer', format: 'int64'},
          value: {type: 'string'},
        },
      },
    },
  ],
  ['p: IntOrString', 'IntOrString', alternatives],
  ['p: Quantity', 'Quantity', {...alternatives, pattern}],
  [
    "p: Pick<ResourceRequirements, 'limits'>",
    'ResourceRequirements',
    {type: 'object', properties: {limits: {type: 'object', additionalProperties: {...alternatives, pattern}}}},
  ],
  ["p: NonNullable<Service['spec']>['type']", 'Service', {type: 'string'}],
  [
    "p: NonNullable<PodSpec['dnsConfig']>['searches']",
    'PodSpec',
    {type: 'array', items: {type: 'string'}, 'x-kubernetes-list-type': 'atomic'},
  ],
];

for (const [property, names, expected] of cases)
  test(`${property} becomes the schema of Kubernetes`, t => t.deepEqual(bare(schemaOf(property, names)), expected));

test('an embedded kind keeps its metadata to the server', t => {
  const {properties, ...schema} = bare(schemaOf('/** @embedded */ p: ConfigMap', 'ConfigMap'));

  t.deepEqual(schema, {type: 'object', 'x-kubernetes-embedded-resource': true});
  t.deepEqual(properties!['metadata'], {type: 'object'});
  t.deepEqual(Object.keys(properties!).sort(), ['apiVersion', 'binaryData', 'data', 'immutable', 'kind', 'metadata']);
});

test('a schema that is stated stands for that of the type', t => {
  const stated = '/** Of the field.\n * @schema {"type": "string", "maxLength": 3}\n * @pattern ^a */ p: () => void';

  t.deepEqual(schemaOf(stated, 'Pod'), {type: 'string', maxLength: 3, pattern: '^a', description: 'Of the field.'});
  t.throws(() => schemaOf('/** @schema 1 */ p: string', 'Pod'), {
    message: /^a\.ts:3: @schema needs a schema, such as \{"type": "string"\} \(Thing\.p\)$/,
  });
});

test('descriptions end after a sentence, a word, or are left out', t => {
  const definition = definitionIn(
    '/** One two. Three four.\n * @group example.com\n * @version v1 */ export interface Thing { /** Five six */ p: {/** Seven */ description?: string}[] }',
  );
  const at = (length: number): JsonSchema => withDescriptions(definition, length).spec.versions[0]!.schema!.openAPIV3Schema as JsonSchema;

  t.deepEqual([at(12).description, at(9).description, at(6).description], ['One two.', 'One two.', 'One']);
  t.is(at(6).properties!['p']!.description, 'Five');
  t.deepEqual(at(0).properties!['p'], {type: 'array', items: {type: 'object', properties: {description: {type: 'string'}}}});
  t.is(at(-1).description, 'One two. Three four.');
});

test('the conversion of a definition is stated by its stored version', t => {
  const of = (text: string) =>
    definitionIn(`/** @group example.com\n * @version v1\n * @conversion ${text} */ export interface Thing { a?: string }`);
  const service = {namespace: 'my-system', name: 'hooks', path: '/convert'};
  const conversion = {strategy: 'Webhook', webhook: {clientConfig: {service}, conversionReviewVersions: ['v1']}};

  t.deepEqual(of('webhook service=my-system/hooks path=/convert').spec.conversion, conversion);
  t.deepEqual(of(JSON.stringify(conversion)).spec.conversion, conversion);
  t.throws(() => of('webhook service=hooks'), {message: /^a\.ts:3: @conversion needs a webhook, such as /});
});

test('what a definition says of its kind comes back from the types', t => {
  const schema = {openAPIV3Schema: {type: 'object', properties: {spec: {type: 'object', properties: {size: {type: 'integer'}}}}}};
  const version = {
    served: true,
    schema,
    subresources: {
      status: {},
      scale: {specReplicasPath: '.spec.size', statusReplicasPath: '.status.size', labelSelectorPath: '.status.selector'},
    },
    selectableFields: [{jsonPath: '.spec.size'}],
  };
  const clientConfig = {service: {namespace: 'a', name: 'b', path: '/c', port: 8443}, caBundle: 'YQ=='};
  const spec = {
    group: 'example.com',
    scope: 'Cluster',
    names: {kind: 'Disk', plural: 'disks', singular: 'disk', listKind: 'Disks', shortNames: ['d', 'dk'], categories: ['all', 'storage']},
    conversion: {strategy: 'Webhook', webhook: {clientConfig, conversionReviewVersions: ['v1', 'v1beta1']}},
    versions: [
      {...version, name: 'v1', storage: true},
      {...version, name: 'v1beta1', storage: false, deprecated: true, deprecationWarning: 'use v1'},
    ],
  };
  const modules = typeModules([{source: 'a.yaml', definition: {metadata: {name: 'disks.example.com'}, spec} as Definition}]);
  const files = new Map(modules.map(({name, text}) => [name, parseDeclarations(name, text)]));
  const [back] = definitionsOf([...files.values()], new Scope(path => files.get(path)), 'apiextensions.k8s.io/v1');
  const withoutSchemas = (of: Definition['spec']) => ({...of, versions: of.versions.map(each => ({...each, schema: undefined}))});

  t.deepEqual(withoutSchemas(back!.definition.spec), withoutSchemas(spec as Definition['spec']));
});

/** Each value of a schema by its path, without descriptions. */
const flat = (value: unknown, path = ''): [string, string][] => {
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && path.endsWith('/required')))
    return [[path, JSON.stringify(Array.isArray(value) ? value.toSorted() : value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, `${path}/${key}`));
};

/** What the original's OpenAPI document says and controller-gen does not, or the other way round. */
const known: readonly RegExp[] = [
  /\/(onPodConditions\/items\/properties\/status|azureDisk\/properties\/(cachingMode|kind))\/default$/,
  /\/(configMapRef|secretRef|configMap|secret)\/x-kubernetes-map-type$/,
];

test("the definition of the tutorial's CronJob is the one that controller-gen writes", async t => {
  const definition = withDescriptions(definitionIn(readFileSync('examples/cronjobs/types.ts', 'utf8')), 0);
  const expected = JSON.parse(gunzipSync(readFileSync('test/fixtures/crds/cronjob.json.gz')).toString()) as Definition;
  const [ours, theirs] = [definition, expected].map(({metadata, spec}) => new Map(flat({name: metadata!.name, spec})));
  const differs = [...new Set([...ours!.keys(), ...theirs!.keys()])].filter(path => ours!.get(path) !== theirs!.get(path));

  t.true(theirs!.size > 2000);
  t.deepEqual(
    differs.filter(path => !known.some(pattern => pattern.test(path))),
    [],
  );
  t.is(differs.length, 12);
  const client = startServer({naming: naming('kubernetes')}).clientOf();
  await t.notThrowsAsync(client.resource(kinds.customResourceDefinitions).create(definition));
});
