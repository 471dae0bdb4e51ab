import test from 'ava';
import type {Status} from '#src/api/status.js';
import {versionInfo} from '#src/api/version.js';
import {versionRoutes} from '#src/apiserver/handlers/version.js';
import {startWire} from './wire.js';

interface Named {
  readonly name: string;
}
interface Document {
  readonly kind: string;
  readonly groups?: readonly Named[];
  readonly resources?: readonly (Named & {readonly kind: string})[];
  readonly items?: readonly Aggregated[];
}
interface Aggregated {
  readonly metadata: Named;
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly ({readonly resource: string} & {readonly subresources?: readonly {readonly subresource: string}[]})[];
  }[];
}

const plat = await startWire();
const aggregatedForm = (version = 'v2', group = 'apidiscovery.plat.io') =>
  `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;

test('the roots list versions and groups', async t => {
  t.deepEqual((await plat.get('/api')).json(), {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:6443'}],
  } as object);
  const {kind, groups} = (await plat.get('/apis')).json<Document>();

  t.is(kind, 'APIGroupList');
  t.deepEqual(
    groups?.find(({name}) => name === 'certificates.plat.io'),
    {
      name: 'certificates.plat.io',
      versions: [{groupVersion: 'certificates.plat.io/v1', version: 'v1'}],
      preferredVersion: {groupVersion: 'certificates.plat.io/v1', version: 'v1'},
    } as Named,
  );
});

test('a group and a version have documents of their own, an unknown one has none', async t => {
  t.like((await plat.get('/apis/certificates.plat.io')).json(), {kind: 'APIGroup', apiVersion: 'v1'});
  t.like((await plat.get('/apis/certificates.plat.io/v1')).json(), {kind: 'APIResourceList', apiVersion: 'v1'});
  for (const path of ['/apis/none', '/apis/certificates.plat.io/v9', '/api/v9', '/apis/certificates.k8s.io'])
    t.is((await plat.get(path)).status, 404, path);
});

test('a version lists its resources with their verbs', async t => {
  const {resources} = (await plat.get('/api/v1')).json<Document>();

  t.deepEqual(
    resources?.find(({name}) => name === 'namespaces/finalize'),
    {name: 'namespaces/finalize', singularName: '', namespaced: false, kind: 'Namespace', verbs: ['update']} as never,
  );
  t.like(
    resources?.find(({name}) => name === 'configmaps'),
    {singularName: 'configmap', namespaced: true, shortNames: ['cm'], storageVersionHash: 'qFsyl6wFWjQ='} as object,
  );
});

test('a version has no storage version hashes without the gate StorageVersionHash', async t => {
  const {get} = await startWire({gate: name => name === 'WatchList'});

  t.false((await get('/api/v1')).json<Document>().resources!.some(resource => 'storageVersionHash' in resource));
});

for (const [group, version, preferred] of [
  ['apidiscovery.plat.io', 'v2', 'v2'],
  ['apidiscovery.k8s.io', 'v2', 'v2'],
] as const) {
  test(`all groups come at once as ${group}/${version}, and only once`, async t => {
    const accept = `${aggregatedForm(version, group)},application/json`;
    for (const path of ['/api', '/apis']) {
      const {json, type, header} = await plat.get(path, {headers: {accept}});
      const document = json<{kind: string; apiVersion: string}>();
      t.is(type, aggregatedForm(preferred, group));
      t.like(document, {kind: 'APIGroupDiscoveryList', apiVersion: `${group}/${version}`});
      const etag = String(header('etag'));
      t.regex(etag, /^"[0-9A-F]{128}"$/);
      t.is(header('vary'), 'Accept');
      const again = await plat.get(path, {headers: {accept, 'if-none-match': etag}});
      t.deepEqual([again.status, again.text], [304, '']);
    }
  });
}

test('the form of all groups that is served no more is passed over', async t => {
  t.is(
    (await plat.get('/apis', {headers: {accept: `${aggregatedForm('v2beta1', 'apidiscovery.k8s.io')},application/json`}})).json<Document>()
      .kind,
    'APIGroupList',
  );
});

test('a document of discovery refuses media types that stand for several, and bodies that no document takes', async t => {
  for (const path of ['/api', '/api/v1', '/apis/certificates.plat.io']) {
    t.like((await plat.get(path, {headers: {accept: 'application/*'}})).json<Status>(), {
      code: 406,
      message: '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.plat.protobuf',
    });
    t.like((await plat.get(path, {headers: {'content-type': 'text/plain'}})).json<Status>(), {
      code: 415,
      message: '415: Unsupported Media Type',
    });
  }
  for (const headers of [{accept: 'application/*'}, {'content-type': 'text/plain'}] as const)
    t.is((await plat.get('/apis', {headers})).status, 200);
});

test('the version is served as JSON alone', async t => {
  const {get} = await startWire({
    routes: versionRoutes(
      versionInfo({emulated: '1.35', minCompatibility: '1.34', runtime: {version: 'v20', platform: 'linux', arch: 'x64'}}),
    ),
  });
  t.is((await get('/version', {headers: {accept: 'text/html, application/json;q=0.1'}})).status, 200);
  t.like((await get('/version', {headers: {accept: 'text/html'}})).json<Status>(), {
    code: 406,
    message: '406: Not Acceptable\n\nAvailable representations: application/json',
  });
});

test('a client that accepts no type of discovery gets 406', async t => {
  const only = 'only the following media types are accepted: application/json, application/yaml, application/vnd.plat.protobuf';
  t.like((await plat.get('/apis', {headers: {accept: 'text/html'}})).json<Status>(), {code: 406, reason: 'NotAcceptable', message: only});
  t.like((await plat.get('/api/v1', {headers: {accept: 'application/json;as=Table;g=meta.plat.io;v=v1'}})).json<Status>(), {
    code: 406,
    message: only,
  });
  t.is((await plat.get('/apis', {headers: {accept: aggregatedForm('v9')}})).status, 406);
});

test('the index lists every path once, in order', async t => {
  const {paths} = (await plat.get('/')).json<{paths: string[]}>();

  t.deepEqual(paths, [...new Set(paths)].sort());
  for (const path of ['/api', '/api/v1', '/apis', '/apis/certificates.plat.io', '/apis/certificates.plat.io/v1', '/healthz'])
    t.true(paths.includes(path), path);
});
