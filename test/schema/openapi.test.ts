import {createHash} from 'node:crypto';
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {naming, type GroupToken} from '#src/api/naming.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {DescribedAddress, DescribedGroup} from '#src/schema/openapi/description.js';
import {systemClock} from '#src/base/clock.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {unpacked, type PackedDocument} from '#src/schema/openapi/packing.js';
import {WireReader} from '#src/schema/protobuf/wire-reader.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

type Json = Record<string, unknown>;

const stored = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const status = (kind: Kind): DescribedAddress => ({name: 'status', kind, verbs: ['get', 'patch', 'update']});
const resource = (kind: Kind, subresources: readonly DescribedAddress[] = []) => ({name: kind.plural, kind, verbs: stored, subresources});

const groups: readonly DescribedGroup[] = [
  {group: '', versions: [{version: 'v1', resources: [resource(kinds.configMaps), resource(kinds.namespaces, [status(kinds.namespaces)])]}]},
  {
    group: 'certificates',
    versions: [{version: 'v1', resources: [resource(kinds.certificateSigningRequests, [status(kinds.certificateSigningRequests)])]}],
  },
];

const schemas = new Schemas();
const documents = (name: 'plat' | 'kubernetes') =>
  new OpenApiDocuments({schemas, naming: naming(name), clock: systemClock, groups: () => groups, version: 'v1.35.0'});
const bytesOf = async (document: Promise<PackedDocument> | undefined): Promise<Buffer> => unpacked((await document)!);
const parsed = async (document: Promise<PackedDocument> | undefined): Promise<Json> => JSON.parse(String(await bytesOf(document))) as Json;
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], value);

test('the index names every document with its hash', async t => {
  const made = documents('kubernetes');
  const paths = at(await parsed(made.index()), 'paths') as Record<string, {serverRelativeURL: string}>;

  t.deepEqual(Object.keys(paths), ['api', 'api/v1', 'apis', 'apis/certificates.k8s.io', 'apis/certificates.k8s.io/v1']);
  for (const [name, {serverRelativeURL}] of Object.entries(paths))
    t.is(serverRelativeURL, `/openapi/v3/${name}?hash=${(await made.document(name))?.hash}`);
  t.regex((await made.document('api/v1'))?.hash ?? '', /^[0-9A-F]{128}$/);
  t.is(made.document('apis/apps/v1'), undefined);
});

test('a document describes the operations and the types they use', async t => {
  const document = await parsed(documents('kubernetes').document('apis/certificates.k8s.io/v1'));
  const create = at(document, 'paths', '/apis/certificates.k8s.io/v1/certificatesigningrequests', 'post');
  const conditions = at(
    document,
    'components',
    'schemas',
    'io.k8s.api.certificates.v1.CertificateSigningRequestStatus',
    'properties',
    'conditions',
  );

  t.is(at(create, 'operationId'), 'createCertificatesV1CertificateSigningRequest');
  t.deepEqual(at(create, 'x-kubernetes-group-version-kind'), {
    group: 'certificates.k8s.io',
    kind: 'CertificateSigningRequest',
    version: 'v1',
  });
  t.is(at(conditions, 'x-kubernetes-list-type'), 'map');
  t.regex(String(at(conditions, 'description')), /^conditions applied to the request/);
  t.is(at(conditions, 'x-plat-list-type'), undefined);
});

test('in the plat naming extensions stand under both prefixes and words are our own', async t => {
  const document = await parsed(documents('plat').document('apis/certificates.plat.io/v1'));
  const type = at(document, 'components', 'schemas', 'io.plat.api.certificates.v1.CertificateSigningRequest') as Json;
  const words = JSON.stringify(document);

  t.deepEqual(type['x-kubernetes-group-version-kind'], [{group: 'certificates.plat.io', kind: 'CertificateSigningRequest', version: 'v1'}]);
  t.deepEqual(type['x-plat-group-version-kind'], type['x-kubernetes-group-version-kind']);
  t.regex(words, /plat\.io\/plat-apiserver-client-platlet/);
  // Addresses stay as they are: nothing lies at others.
  t.notRegex(words.replaceAll('x-kubernetes-', '').replaceAll(/https?:[^\s"]+/g, ''), /kubernetes\.io|k8s\.io|kubelet|Kubernetes/);
});

test('every reference of a document is defined in it', async t => {
  const all = new OpenApiDocuments({
    schemas,
    naming: naming('plat'),
    clock: systemClock,
    groups: () => [...groups, ...customGroups()],
    version: 'v1.35.0',
  });
  for (const made of [
    ...['api', 'api/v1', 'apis', 'apis/certificates.plat.io/v1', crontabDocument].map(name => all.document(name)),
    all.swagger(),
  ]) {
    const text = String(await bytesOf(made));
    const document = JSON.parse(text) as Json;
    const defined = Object.keys((at(document, 'components', 'schemas') ?? document['definitions']) as Json);
    const used = [...text.matchAll(/"\$ref":"#\/(?:components\/schemas|definitions)\/([^"]+)"/g)].map(([, name]) => name ?? '');
    t.deepEqual(
      [...new Set(used)].filter(name => !defined.includes(name)),
      [],
    );
  }
});

test('the v2 document is the same without defaults', async t => {
  const document = await parsed(documents('kubernetes').swagger());
  const spec = at(document, 'definitions', 'io.k8s.api.certificates.v1.CertificateSigningRequest', 'properties', 'spec') as Json;

  t.is(document['swagger'], '2.0');
  t.is(spec['$ref'], '#/definitions/io.k8s.api.certificates.v1.CertificateSigningRequestSpec');
  t.false('default' in spec);
  t.deepEqual(at(document, 'paths', '/api/v1/configmaps', 'get', 'x-kubernetes-action'), 'list');
  const body = (at(document, 'paths', '/api/v1/namespaces/{namespace}/configmaps', 'post', 'parameters') as Json[])[0];
  t.deepEqual([body?.['in'], body?.['name'], body?.['required']], ['body', 'body', true]);
});

test('documents are rebuilt when the served resources have changed', async t => {
  const served = [...groups];
  const made = new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock: systemClock, groups: () => served, version: 'v1.35.0'});
  const hash = async () => (await made.index()).hash;
  const before = await hash();
  served.pop();

  t.is(await hash(), before);
  made.invalidate();
  t.not(await hash(), before);
  t.is(made.document('apis/certificates.k8s.io/v1'), undefined);
});

const crontabs: Kind = {
  group: 'stable.example-corp.com' as GroupToken,
  version: 'v1',
  kind: 'CronTab',
  listKind: 'CronTabs',
  plural: 'crontabs',
  singular: 'crontab',
  namespaced: true,
};

const crontabSchema: JsonSchema = {
  type: 'object',
  description: 'Runs things.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['maybe', 'n'],
      oneOf: [{required: ['n']}, {required: ['free']}],
      'x-kubernetes-validations': [{rule: 'self.n != 0'}],
      properties: {
        n: {'x-kubernetes-int-or-string': true, default: 1},
        maybe: {type: 'string', nullable: true, pattern: '^a', format: 'date'},
        free: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {a: {type: 'string'}}},
        list: {type: 'array', items: {type: 'string'}, 'x-kubernetes-list-type': 'set'},
        whole: {type: 'object', 'x-kubernetes-embedded-resource': true, properties: {a: {type: 'string'}}},
      },
    },
  },
};

const customGroups = (source: JsonSchema | undefined = crontabSchema): DescribedGroup[] => [
  {
    group: crontabs.group,
    versions: [
      {
        version: 'v1',
        resources: [
          {
            ...resource(crontabs, [status(crontabs), {name: 'scale', kind: kinds.scales, verbs: ['get', 'patch', 'update']}]),
            schema: () => ({source, selectableFields: ['.spec.n']}),
          },
        ],
      },
    ],
  },
];

const customDocuments = (served: () => readonly DescribedGroup[]) =>
  new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock: systemClock, groups: served, version: 'v1.35.0'});
const crontabDocument = 'apis/stable.example-corp.com/v1';

test('a custom resource is described by its definition, and by the metadata of every object', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const type = at(document, 'components', 'schemas', 'com.example-corp.stable.v1.CronTab') as Json;
  const spec = at(type, 'properties', 'spec') as Json;
  const n = {'x-kubernetes-int-or-string': true, default: 1, anyOf: [{type: 'integer'}, {type: 'string'}]};

  t.like(type, {description: 'Runs things.', type: 'object', required: ['spec']});
  t.deepEqual(type['x-kubernetes-group-version-kind'], [{group: 'stable.example-corp.com', kind: 'CronTab', version: 'v1'}]);
  t.deepEqual(type['x-kubernetes-selectable-fields'], [{fieldPath: 'spec.n'}]);
  t.deepEqual(at(type, 'properties', 'metadata', 'allOf'), [
    {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'},
  ]);
  t.regex(at(type, 'properties', 'metadata', 'description') as string, /^Standard object's metadata\. More info: https:\S+#metadata$/);
  t.is(at(type, 'properties', 'apiVersion', 'type'), 'string');
  t.deepEqual(spec['oneOf'], [{required: ['n']}, {required: ['free']}]);
  t.deepEqual(spec['x-kubernetes-validations'], [{rule: 'self.n != 0'}]);
  t.deepEqual(at(spec, 'properties', 'n'), n);
  t.deepEqual(at(spec, 'properties', 'maybe'), {format: 'date', pattern: '^a', type: 'string', nullable: true});
  t.deepEqual(at(spec, 'properties', 'whole', 'required'), ['kind', 'apiVersion']);
  t.deepEqual(Object.keys(at(spec, 'properties', 'whole', 'properties') as Json), ['a', 'apiVersion', 'kind', 'metadata']);
});

test('a definition of very many fields is written in steps, in each form, with the same result', async t => {
  const count = 5000;
  const source: JsonSchema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: Object.fromEntries(Array.from({length: count}, (_, index) => [`field-${index}`, {type: 'string', enum: ['a']}])),
      },
    },
  };
  let steps = 0;
  const clock = {monotonic: () => ++steps / 100};
  const made = new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock, groups: () => customGroups(source), version: 'v1.35.0'});
  const stepsOf = async <T>(act: () => Promise<T>): Promise<[number, T]> => {
    steps = 0;
    const result = await act();
    return [steps, result];
  };

  const [three, document] = await stepsOf(() => parsed(made.document(crontabDocument)));
  const [two, swagger] = await stepsOf(() => parsed(made.swagger()));
  const [binary, message] = await stepsOf(() => bytesOf(made.swaggerMessage()));

  const fields = [at(document, 'components', 'schemas'), swagger['definitions']].map(
    types => at(types, 'com.example-corp.stable.v1.CronTab', 'properties', 'spec', 'properties') as Json,
  );
  for (const each of fields) t.deepEqual(each, source.properties!['spec']!.properties);
  t.is(namesIn(message, 9, 1, 2, 25, 1, 2, 25, 1, 1).length, count);
  t.true(
    [three, two].every(each => each > count),
    `${three}, ${two}`,
  );
  t.true(binary > 2 * count, `${binary}`);
});

test('the list of a custom resource has the name its definition gives it', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const list = at(document, 'components', 'schemas', 'com.example-corp.stable.v1.CronTabs') as Json;

  t.deepEqual(at(list, 'properties', 'items', 'items'), {$ref: '#/components/schemas/com.example-corp.stable.v1.CronTab'});
  t.regex(at(list, 'properties', 'metadata', 'description') as string, /^Standard list metadata\. More info: https:\S+#types-kinds$/);
  t.deepEqual([list['description'], list['required']], ['CronTabs is a list of CronTab', ['items']]);
  t.deepEqual(list['x-kubernetes-group-version-kind'], [{group: 'stable.example-corp.com', kind: 'CronTabs', version: 'v1'}]);
});

test('operations on custom resources are named after their group, and speak JSON and YAML', async t => {
  const document = await parsed(customDocuments(() => customGroups()).document(crontabDocument));
  const root = '/apis/stable.example-corp.com/v1';
  const collection = `${root}/namespaces/{namespace}/crontabs`;
  const paths = document['paths'] as Record<string, Record<string, Json>>;
  const ids = Object.entries(paths).map(([path, item]) => [
    path,
    ...Object.entries(item).flatMap(([method, one]) => (one['operationId'] ? [`${method} ${String(one['operationId'])}`] : [])),
  ]);

  t.deepEqual(ids, [
    [`${root}/crontabs`, 'get listStableExampleCorpComV1CronTabForAllNamespaces'],
    [
      collection,
      'get listStableExampleCorpComV1NamespacedCronTab',
      'post createStableExampleCorpComV1NamespacedCronTab',
      'delete deleteStableExampleCorpComV1CollectionNamespacedCronTab',
    ],
    [
      `${collection}/{name}`,
      'get readStableExampleCorpComV1NamespacedCronTab',
      'put replaceStableExampleCorpComV1NamespacedCronTab',
      'patch patchStableExampleCorpComV1NamespacedCronTab',
      'delete deleteStableExampleCorpComV1NamespacedCronTab',
    ],
    [
      `${collection}/{name}/scale`,
      'get readStableExampleCorpComV1NamespacedCronTabScale',
      'put replaceStableExampleCorpComV1NamespacedCronTabScale',
      'patch patchStableExampleCorpComV1NamespacedCronTabScale',
    ],
    [
      `${collection}/{name}/status`,
      'get readStableExampleCorpComV1NamespacedCronTabStatus',
      'put replaceStableExampleCorpComV1NamespacedCronTabStatus',
      'patch patchStableExampleCorpComV1NamespacedCronTabStatus',
    ],
  ]);
  t.deepEqual(Object.keys(at(paths, collection, 'post', 'requestBody', 'content') as Json), ['application/json', 'application/yaml']);
  t.deepEqual(Object.keys(at(paths, `${collection}/{name}`, 'patch', 'requestBody', 'content') as Json), [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ]);
  t.deepEqual(at(paths, collection, 'get', 'tags'), ['stableExampleCorpCom_v1']);
  t.deepEqual(at(paths, `${collection}/{name}/scale`, 'get', 'x-kubernetes-group-version-kind'), {
    group: 'stable.example-corp.com',
    kind: 'CronTab',
    version: 'v1',
  });
  t.regex(JSON.stringify(at(paths, `${collection}/{name}/scale`, 'get', 'responses', '200')), /autoscaling\.v1\.Scale/);
});

test('the v2 document leaves out keywords that its readers do not support', async t => {
  const document = await parsed(customDocuments(() => customGroups()).swagger());
  const type = at(document, 'definitions', 'com.example-corp.stable.v1.CronTab') as Json;
  const spec = at(type, 'properties', 'spec') as Json;
  const property = (name: string) => at(spec, 'properties', name);

  t.deepEqual(Object.keys(spec).sort(), ['properties', 'required', 'type', 'x-kubernetes-validations']);
  t.deepEqual(spec['required'], ['n']);
  t.deepEqual(property('n'), {'x-kubernetes-int-or-string': true});
  t.deepEqual(property('maybe'), {format: 'date', pattern: '^a'});
  t.deepEqual(property('free'), {'x-kubernetes-preserve-unknown-fields': true});
  t.is(at(property('whole'), 'properties', 'metadata', '$ref'), '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
});

test('a custom resource without fields, or that preserves unknown ones, is any object in the v2 document', async t => {
  for (const source of [
    undefined,
    {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {spec: {type: 'string'}}},
  ] as const) {
    const document = await parsed(customDocuments(() => customGroups(source ?? (null as never))).swagger());

    t.deepEqual(Object.keys(at(document, 'definitions', 'com.example-corp.stable.v1.CronTab') as Json), [
      'type',
      'x-kubernetes-group-version-kind',
      'x-kubernetes-selectable-fields',
    ]);
  }
});

test('only the documents of changed groups are rebuilt', async t => {
  let custom = customGroups();
  const made = customDocuments(() => [...groups.map(group => structuredClone(group)), ...custom]);
  const built = () => made.document('api/v1');
  const [before, crontab] = [built(), made.document(crontabDocument)];
  t.truthy(await before);

  custom = customGroups({...crontabSchema, description: 'Runs other things.'});
  made.invalidate();

  t.is(built(), before);
  t.not(made.document(crontabDocument), crontab);
  custom = [];
  made.invalidate();
  t.is(made.document(crontabDocument), undefined);
});

test('for the list of documents the schema of each definition is read as often whether there are many or one', async t => {
  let reads = 0;
  const read = () => {
    reads++;
    return {source: crontabSchema};
  };
  const group = (i: number): DescribedGroup => ({
    ...customGroups()[0]!,
    group: `g${i}.example.com` as GroupToken,
    versions: [{version: 'v1', resources: [{...resource({...crontabs, group: `g${i}.example.com` as GroupToken}), schema: read}]}],
  });
  const readsOf = async (count: number): Promise<number> => {
    reads = 0;
    const many = Array.from({length: count}, (_, i) => group(i));
    const index = await parsed(customDocuments(() => many).index());
    t.is(Object.keys(at(index, 'paths') as Json).length, count + 2);
    return reads / count;
  };

  t.is(await readsOf(200), await readsOf(1));
});

// The tests below compare with data of the original's release 1.35.

test('documents have the formats of strings, and the keys and merge types of lists and maps', async t => {
  const document = await parsed(
    new OpenApiDocuments({
      schemas,
      naming: naming('kubernetes'),
      clock: systemClock,
      groups: () => [{group: '', versions: [{version: 'v1', resources: [resource(kinds.pods), resource(kinds.persistentVolumeClaims)]}]}],
      version: 'unversioned',
      mediaTypes: {objects: [], patches: []},
    }).document('api/v1'),
  );
  const property = (type: string, name: string) =>
    at(document, 'components', 'schemas', `io.k8s.api.core.v1.${type}`, 'properties', name) as Json;

  t.deepEqual(property('Container', 'imagePullPolicy')['enum'], ['Always', 'IfNotPresent', 'Never']);
  t.deepEqual((property('PersistentVolumeClaimSpec', 'accessModes')['items'] as Json)['enum'], [
    'ReadOnlyMany',
    'ReadWriteMany',
    'ReadWriteOnce',
    'ReadWriteOncePod',
  ]);
  t.is(
    ((property('PersistentVolumeClaimStatus', 'allocatedResourceStatuses')['additionalProperties'] as Json)['enum'] as unknown[]).length,
    5,
  );
  t.is(property('Container', 'name')['enum'], undefined);
});

const oracle = process.env['PLAT_ORACLE'] ?? '';
const compared = existsSync(join(oracle, 'openapi-v3')) ? test : test.skip;
if (compared === test.skip) console.log('skipped: comparing OpenAPI documents with the original needs PLAT_ORACLE');

const read = (folder: string, file: string): Json => JSON.parse(readFileSync(join(oracle, folder, file), 'utf8')) as Json;

interface ResourceLine {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

const original = naming('kubernetes');
const tokenOf = (wire: string): GroupToken => original.groupToken(wire) ?? '';

/** Streams and tunnels are described by the kinds that have them, which the server's own documents are compared by. */
const isConnect = (name: string): boolean => /^(attach|exec|log|portforward|proxy)$/.test(name);

const describedGroups = (): DescribedGroup[] => {
  const found = new Map<GroupToken, {version: string; resources: ReturnType<typeof resource>[]}[]>();
  for (const file of readdirSync(join(oracle, 'discovery'))) {
    const list = read('discovery', file) as unknown as {groupVersion?: string; resources?: ResourceLine[]};
    if (!list.resources || !list.groupVersion) continue;
    const [version = '', wire = ''] = list.groupVersion.split('/').toReversed();
    const group = tokenOf(wire);
    const kindOf = (line: ResourceLine): Kind => ({
      group: line.group === undefined ? group : tokenOf(line.group),
      version: line.version ?? version,
      kind: line.kind,
      plural: line.name.split('/')[0] ?? '',
      singular: line.singularName,
      listKind: `${line.kind}List`,
      namespaced: line.namespaced,
    });
    const address = (line: ResourceLine): DescribedAddress => ({
      name: line.name.split('/')[1] ?? '',
      kind: kindOf(line),
      verbs: line.verbs,
    });
    const lines = list.resources;
    const resources = lines
      .filter(({name}) => !name.includes('/'))
      .map(line => ({
        ...resource(
          kindOf(line),
          lines
            .filter(({name}) => name.startsWith(`${line.name}/`))
            .map(address)
            .filter(({name}) => !isConnect(name)),
        ),
        verbs: [...line.verbs],
      }));
    found.set(group, [...(found.get(group) ?? []), {version, resources}]);
  }
  return [...found].map(([group, versions]) => ({group, versions}));
};

const media = {
  objects: ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'],
  patches: [
    'application/apply-patch+cbor',
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
  ],
};

/** Without descriptions and formats, which the reference data lacks, with keys sorted, and without the responses of DELETE, which discovery does not list. */
const plain = (value: unknown, key = ''): unknown => {
  if (Array.isArray(value)) return value.map(item => plain(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([name, inner]) =>
      !(name === 'description' && typeof inner === 'string') &&
      !(name === 'enum' && Array.isArray(inner)) &&
      !(key === 'delete' && name === 'responses'),
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, plain(inner, name)]));
};

compared('documents of all group versions agree with the original', async t => {
  const made = new OpenApiDocuments({
    schemas,
    naming: original,
    clock: systemClock,
    groups: describedGroups,
    version: 'unversioned',
    mediaTypes: media,
  });
  for (const file of readdirSync(join(oracle, 'openapi-v3'))) {
    const name = file.replace('_openapi.json', '').replaceAll('__', '/');
    if (!name.startsWith('api')) continue;
    const [want, have] = [plain(read('openapi-v3', file)) as Json, plain(await parsed(made.document(name))) as Json];
    for (const part of ['schemas', 'securitySchemes']) {
      for (const [type, schema] of Object.entries(at(want, 'components', part) as Json))
        t.deepEqual(at(have, 'components', part, type), schema, `${name} ${type}`);
    }
    for (const [path, item] of Object.entries(want['paths'] as Json)) {
      if (!path.split('/').some(isConnect)) t.deepEqual(at(have, 'paths', path), item, `${name} ${path}`);
    }
  }
});

/** The named entries of a message's map: field `number` of the message at `path` within. */
const namesIn = (bytes: Buffer, ...[number, ...inner]: number[]): string[] => {
  const reader = new WireReader(bytes);
  const found: string[] = [];
  while (reader.at < bytes.length) {
    const tag = reader.tag(bytes.length);
    if (tag >>> 3 !== number) reader.skip(tag & 7, bytes.length);
    else {
      const end = reader.length(bytes.length);
      const part = bytes.subarray(reader.at, end);
      found.push(...(inner.length > 0 ? namesIn(part, ...inner) : [part.toString()]));
      reader.at = end;
    }
  }
  return found;
};

test('the older document has a binary form that holds the same definitions, paths and extensions', async t => {
  const made = documents('kubernetes');
  const document = await parsed(made.swagger());
  const bytes = await bytesOf(made.swaggerMessage());

  t.deepEqual(namesIn(bytes, 1), ['2.0']);
  t.deepEqual(namesIn(bytes, 9, 1, 1), Object.keys(document['definitions'] as Json));
  t.deepEqual(namesIn(bytes, 8, 2, 1), Object.keys(document['paths'] as Json));
  t.true(namesIn(bytes, 9, 1, 2, 31, 1).includes('x-kubernetes-group-version-kind'));
  t.not((await made.swaggerMessage()).hash, (await made.swagger()).hash);
});

test('the tag of a document is the hash of its content, and concurrent requests build it once', async t => {
  const made = documents('plat');
  const [once, again] = await Promise.all([made.swagger(), made.swagger()]);
  const bytes = await unpacked(once);

  t.is(once, again);
  t.is(once.size, bytes.length);
  t.is(once.hash, createHash('sha512').update(bytes).digest('hex').toUpperCase());
  t.true(once.packed.length < bytes.length / 4);
});
