import {createHash} from 'node:crypto';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import type {DescribedGroup} from '#src/schema/openapi/description.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {unpackDocument} from '#src/schema/openapi/packing.js';
import {
  type Json,
  at,
  bytesOf,
  crontabDocument,
  customGroups,
  documents,
  groups,
  namesIn,
  parsed,
  resource,
  schemas,
} from './openapi-documents.js';

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

test('a field is described in its own words, with line breaks and possible values, also where it refers to a type', async t => {
  const group: DescribedGroup = {group: '', versions: [{version: 'v1', resources: [resource(kinds.pods), resource(kinds.services)]}]};
  const made = (enums: boolean) =>
    new OpenApiDocuments({schemas, naming: naming('kubernetes'), clock: systemClock, groups: () => [group], version: 'v1.35.0', enums});
  const propertyOf = async (type: string, field: string, enums = true) =>
    at(await parsed(made(enums).document('api/v1')), 'components', 'schemas', `io.k8s.api.core.v1.${type}`, 'properties', field) as Json;

  const lifecycle = await propertyOf('Container', 'lifecycle');
  t.is(
    lifecycle['description'],
    'Actions that the management system should take in response to container lifecycle events. Cannot be updated.',
  );
  t.deepEqual(lifecycle['allOf'], [{$ref: '#/components/schemas/io.k8s.api.core.v1.Lifecycle'}]);
  t.regex(String((await propertyOf('ServicePort', 'targetPort'))['description']), /^Number or name of the port to access on the pods/);
  t.regex(String((await propertyOf('Container', 'imagePullPolicy'))['description']), /\n\nPossible enum values:\n - `"Always"` means/);
  t.notRegex(String((await propertyOf('Container', 'imagePullPolicy', false))['description']), /Possible enum values/);
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

test('the tag of a document is the hash of its content, and concurrent requests build it once', async t => {
  const made = documents('plat');
  const [once, again] = await Promise.all([made.swagger(), made.swagger()]);
  const bytes = await unpackDocument(once);

  t.is(once, again);
  t.is(once.size, bytes.length);
  t.is(once.hash, createHash('sha512').update(bytes).digest('hex').toUpperCase());
  t.true(once.packed.length < bytes.length / 4);
});

test('documents list no values of fields of built-in types if they are not to', async t => {
  const versions = [{version: 'v1', resources: [resource(kinds.pods), resource(kinds.persistentVolumeClaims)]}];
  const made = new OpenApiDocuments({
    schemas,
    naming: naming('kubernetes'),
    clock: systemClock,
    groups: () => [{group: '', versions}],
    version: 'v1.35.0',
    enums: false,
  });

  t.notRegex(String(await bytesOf(made.document('api/v1'))), /"enum"/);
  t.notRegex(String(await bytesOf(made.swagger())), /"enum"/);
});

test('all who need an uncompressed document at the same time share one', async t => {
  const document = (await documents('kubernetes').document('api/v1'))!;
  const [first, second] = await Promise.all([unpackDocument(document), unpackDocument(document)]);
  const third = await unpackDocument(document);

  t.is(first, second);
  t.is(third, first);
  t.is(first.length, document.size);
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
