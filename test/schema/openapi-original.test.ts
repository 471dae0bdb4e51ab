import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import {naming, type GroupToken} from '#src/api/naming.js';
import type {DescribedAddress, DescribedGroup} from '#src/schema/openapi/description.js';
import {systemClock} from '#src/base/clock.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {type Json, at, bytesOf, documents, namesIn, parsed, resource, schemas} from './openapi-documents.js';

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

/**
 * Without descriptions and formats, which the reference data lacks, with keys sorted, and without the responses of
 * DELETE, which discovery does not list.
 */
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
