import {createHash} from 'node:crypto';
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds.js';
import {naming, type GroupToken} from '#src/api/naming.js';
import type {DescribedAddress, DescribedGroup} from '#src/schema/openapi/description.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {unpacked, type PackedDocument} from '#src/schema/openapi/packing.js';
import {WireReader} from '#src/schema/protobuf/wire-reader.js';
import {Schemas} from '#src/schema/schemas.js';

type Json = Record<string, unknown>;

const stored = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const status = (kind: Kind): DescribedAddress => ({name: 'status', kind, verbs: ['get', 'patch', 'update']});
const resource = (kind: Kind, subresources: readonly DescribedAddress[] = []) => ({name: kind.plural, kind, verbs: stored, subresources});

const groups: readonly DescribedGroup[] = [
  {group: '', versions: [{version: 'v1', resources: [resource(kinds.configMaps), resource(kinds.namespaces, [status(kinds.namespaces)])]}]},
  {group: 'certificates', versions: [{version: 'v1', resources: [resource(kinds.certificateSigningRequests, [status(kinds.certificateSigningRequests)])]}]},
];

const schemas = new Schemas();
const documents = (name: 'plat' | 'kubernetes') => new OpenApiDocuments({schemas, naming: naming(name), groups: () => groups, version: 'v1.35.0'});
const bytesOf = async (document: Promise<PackedDocument> | undefined): Promise<Buffer> => unpacked((await document)!);
const parsed = async (document: Promise<PackedDocument> | undefined): Promise<Json> => JSON.parse(String(await bytesOf(document))) as Json;
const at = (value: unknown, ...path: readonly string[]): unknown => path.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], value);

test('the index names every document with its hash', async t => {
  const made = documents('kubernetes');
  const paths = at(await parsed(made.index()), 'paths') as Record<string, {serverRelativeURL: string}>;

  t.deepEqual(Object.keys(paths), ['api', 'api/v1', 'apis', 'apis/certificates.k8s.io', 'apis/certificates.k8s.io/v1']);
  for (const [name, {serverRelativeURL}] of Object.entries(paths)) t.is(serverRelativeURL, `/openapi/v3/${name}?hash=${(await made.document(name))?.hash}`);
  t.regex((await made.document('api/v1'))?.hash ?? '', /^[0-9A-F]{128}$/);
  t.is(made.document('apis/apps/v1'), undefined);
});

test('a document describes the operations and the types they use', async t => {
  const document = await parsed(documents('kubernetes').document('apis/certificates.k8s.io/v1'));
  const create = at(document, 'paths', '/apis/certificates.k8s.io/v1/certificatesigningrequests', 'post');
  const conditions = at(document, 'components', 'schemas', 'io.k8s.api.certificates.v1.CertificateSigningRequestStatus', 'properties', 'conditions');

  t.is(at(create, 'operationId'), 'createCertificatesV1CertificateSigningRequest');
  t.deepEqual(at(create, 'x-kubernetes-group-version-kind'), {group: 'certificates.k8s.io', kind: 'CertificateSigningRequest', version: 'v1'});
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
  const all = documents('plat');
  for (const made of [...['api', 'api/v1', 'apis', 'apis/certificates.plat.io/v1'].map(name => all.document(name)), all.swagger()]) {
    const text = String(await bytesOf(made));
    const document = JSON.parse(text) as Json;
    const defined = Object.keys((at(document, 'components', 'schemas') ?? document['definitions']) as Json);
    const used = [...text.matchAll(/"\$ref":"#\/(?:components\/schemas|definitions)\/([^"]+)"/g)].map(([, name]) => name ?? '');
    t.deepEqual([...new Set(used)].filter(name => !defined.includes(name)), []);
  }
});

test('the older document says the same without defaults', async t => {
  const document = await parsed(documents('kubernetes').swagger());
  const spec = at(document, 'definitions', 'io.k8s.api.certificates.v1.CertificateSigningRequest', 'properties', 'spec') as Json;

  t.is(document['swagger'], '2.0');
  t.is(spec['$ref'], '#/definitions/io.k8s.api.certificates.v1.CertificateSigningRequestSpec');
  t.false('default' in spec);
  t.deepEqual(at(document, 'paths', '/api/v1/configmaps', 'get', 'x-kubernetes-action'), 'list');
  const body = (at(document, 'paths', '/api/v1/namespaces/{namespace}/configmaps', 'post', 'parameters') as Json[])[0];
  t.deepEqual([body?.['in'], body?.['name'], body?.['required']], ['body', 'body', true]);
});

test('documents are made anew when what is served has changed', async t => {
  const served = [...groups];
  const made = new OpenApiDocuments({schemas, naming: naming('kubernetes'), groups: () => served, version: 'v1.35.0'});
  const hash = async () => (await made.index()).hash;
  const before = await hash();
  served.pop();

  t.is(await hash(), before);
  made.forget();
  t.not(await hash(), before);
  t.is(made.document('apis/certificates.k8s.io/v1'), undefined);
});

// What follows compares with data of the original's release 1.35.

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
    const address = (line: ResourceLine): DescribedAddress => ({name: line.name.split('/')[1] ?? '', kind: kindOf(line), verbs: line.verbs});
    const lines = list.resources;
    const resources = lines
      .filter(({name}) => !name.includes('/'))
      .map(line => ({...resource(kindOf(line), lines.filter(({name}) => name.startsWith(`${line.name}/`)).map(address).filter(({name}) => !isConnect(name))), verbs: [...line.verbs]}));
    found.set(group, [...(found.get(group) ?? []), {version, resources}]);
  }
  return [...found].map(([group, versions]) => ({group, versions}));
};

const media = {
  objects: ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'],
  patches: ['application/apply-patch+cbor', 'application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json'],
};

/** Without descriptions, keys sorted, and without what DELETE answers with, which discovery does not tell. */
const plain = (value: unknown, key = ''): unknown => {
  if (Array.isArray(value)) return value.map(item => plain(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, inner]) => !(name === 'description' && typeof inner === 'string') && !(key === 'delete' && name === 'responses'));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, plain(inner, name)]));
};

compared('documents of all group versions agree with the original', async t => {
  const made = new OpenApiDocuments({schemas, naming: original, groups: describedGroups, version: 'unversioned', mediaTypes: media});
  for (const file of readdirSync(join(oracle, 'openapi-v3'))) {
    const name = file.replace('_openapi.json', '').replaceAll('__', '/');
    if (!name.startsWith('api')) continue;
    const [want, have] = [plain(read('openapi-v3', file)) as Json, plain(await parsed(made.document(name))) as Json];
    for (const part of ['schemas', 'securitySchemes']) {
      for (const [type, schema] of Object.entries(at(want, 'components', part) as Json)) t.deepEqual(at(have, 'components', part, type), schema, `${name} ${type}`);
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

test('a document is known by the hash of what it says, and asked for twice is made once', async t => {
  const made = documents('plat');
  const [once, again] = await Promise.all([made.swagger(), made.swagger()]);
  const bytes = await unpacked(once);

  t.is(once, again);
  t.is(once.size, bytes.length);
  t.is(once.hash, createHash('sha512').update(bytes).digest('hex').toUpperCase());
  t.true(once.packed.length < bytes.length / 4);
});
