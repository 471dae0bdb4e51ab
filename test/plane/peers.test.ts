import test, {type ExecutionContext} from 'ava';
import type {KubeObject} from '#src/api/types.js';
import {recordObject} from '#src/apiserver/registry/record.js';
import {endOfPrefix} from '#src/storage/store.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {mergedGroups, mergedOrder} from '#src/apiserver/peers/documents.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {aPeerServer, shared, type PeerServer} from './peer-servers.js';

const candidates = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';
const jobs = '/apis/batch/v1/namespaces/default/jobs';
const aCandidate = {
  metadata: {name: 'a'},
  spec: {leaseName: 'l', binaryVersion: '1.35.0', emulationVersion: '1.35.0', strategy: 'OldestEmulationVersion'},
};
const discoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Document {
  readonly items: readonly {
    readonly metadata: {readonly name: string};
    readonly versions: readonly {readonly version: string; readonly resources: readonly {readonly resource: string}[]}[];
  }[];
}

/** The group versions of a server's discovery document. */
const versionsOf = async ({ask}: PeerServer, accept = discoveryType): Promise<readonly string[]> =>
  (await ask('GET', '/apis', {headers: {accept}}))
    .json<Document>()
    .items.flatMap(({metadata, versions}) => versions.map(({version}) => `${metadata.name}/${version}`));

/** Two servers on one store: only the second has LeaseCandidates, only the first has jobs. */
const twoServers = async (t: ExecutionContext, {proxies = true}: {proxies?: boolean} = {}) => {
  const clock = new VirtualClock();
  const all = shared(memoryStore({clock}));
  const old = await aPeerServer(t, {store: all, clock, host: 'old', proxies});
  const fresh = await aPeerServer(t, {
    store: all,
    clock,
    host: 'fresh-one',
    proxies,
    args: ['--runtime-config=coordination.k8s.io/v1beta1=true,batch/v1=false'],
  });
  for (let i = 0; i < 20; i++) await clock.advance(100);
  const records = async (start: string) =>
    (await all.range({start, end: endOfPrefix(start)})).records.map(({value, revision}) => recordObject<KubeObject>(value, revision));
  return {clock, old, fresh, store: all, records};
};

test('a request for a version that only another server has is passed on to it, with the user', async t => {
  const {old, fresh} = await twoServers(t);

  const made = await old.ask('POST', candidates, {body: aCandidate, headers: {'content-type': 'application/json'}});
  t.is(made.status, 201);
  t.is(made.json().metadata?.name, 'a');
  t.is((await old.ask('GET', `${candidates}/a`)).status, 200);
  t.is((await fresh.ask('GET', `${candidates}/a`)).status, 200);
  t.is((await fresh.ask('GET', jobs)).status, 200);
  const nobody = {name: 'nobody', groups: ['system:authenticated']};
  t.is((await old.ask('GET', candidates, {user: nobody})).status, 403);
  t.is(await old.metric('apiserver_rerouted_request_total{code="201"}'), '1');
  t.is(await old.metric('apiserver_rerouted_request_total{code="200"}'), '1');
});

test('a request that was passed on already, or that no server can serve, is answered with 404', async t => {
  const {old} = await twoServers(t);

  t.is((await old.ask('GET', candidates, {headers: {'x-kubernetes-peer-proxied': 'true'}})).status, 404);
  t.is((await old.ask('GET', '/apis/batch/v3/namespaces/default/jobs')).status, 404);
});

test('aggregated discovery has what any server serves, unless only one is asked for', async t => {
  const {old, fresh} = await twoServers(t);

  for (const server of [old, fresh]) {
    const versions = await versionsOf(server);
    t.true(versions.includes('coordination.k8s.io/v1beta1') && versions.includes('batch/v1'));
  }
  const own = await versionsOf(old, `${discoveryType};profile=nopeer`);
  t.deepEqual([own.includes('coordination.k8s.io/v1beta1'), own.includes('batch/v1')], [false, true]);
  await versionsOf(old);
  t.is(await old.metric('aggregator_discovery_peer_aggregated_cache_misses_total'), '1');
  t.is(await old.metric('aggregator_discovery_peer_aggregated_cache_hits_total'), '1');
  t.true(Number(await old.metric('aggregator_discovery_nopeer_requests_total')) >= 1);
});

test('without --peer-ca-file no request is passed on, but the address is announced', async t => {
  const {old, records} = await twoServers(t, {proxies: false});
  t.is((await old.ask('GET', candidates)).status, 404);

  const [address, ...others] = await records('/registry/peerserverleases/');
  t.is(others.length, 1);
  t.like(address, {subsets: [{addresses: [{ip: '127.0.0.1'}], ports: [{name: 'https'}]}]});
});

test('503 is returned when the server that has the version cannot be reached', async t => {
  const {old, fresh, clock} = await twoServers(t);
  await fresh.closePort();

  const refused = await old.ask('GET', candidates);
  t.is(refused.status, 503);
  t.regex(refused.text, /connection refused/);
  t.is(await old.metric('apiserver_rerouted_request_total{code="503"}'), '1');
  await fresh.close();
  await clock.advance(1000);
  const unknown = await old.ask('GET', candidates);
  t.is(unknown.status, 503);
  t.like(unknown.json(), {reason: 'ServiceUnavailable', message: 'Error getting ip and port info of the remote server while proxying'});
});

test('a custom resource that is deleted is not asked of servers that do not know it yet', async t => {
  const {old, clock, store} = await twoServers(t);
  const definition = {
    metadata: {name: 'things.example.com'},
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: {plural: 'things', kind: 'Thing'},
      versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}],
    },
  };
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  t.is((await old.ask('POST', definitions, {body: definition, headers: {'content-type': 'application/json'}})).status, 201);
  await clock.advance(5000);
  t.is((await old.ask('GET', '/apis/example.com/v1/things')).status, 200);
  // When a server joins, the documents of all are read again, with the resource.
  await aPeerServer(t, {store, clock, host: 'third'});
  for (let i = 0; i < 20; i++) await clock.advance(100);
  t.is((await old.ask('DELETE', `${definitions}/things.example.com`)).status, 200);
  await clock.advance(5000);
  t.is((await old.ask('GET', '/apis/example.com/v1/things')).status, 404);
  t.is(await old.metric('apiserver_rerouted_request_total{code="404"}'), undefined);
});

test('orders of names are merged into one that agrees with each, as far as they agree with each other', t => {
  t.deepEqual(
    mergedOrder([
      ['a', 'c'],
      ['a', 'b', 'c'],
    ]),
    ['a', 'b', 'c'],
  );
  t.deepEqual(
    mergedOrder([
      ['a', 'b'],
      ['b', 'a'],
    ]).toSorted(),
    ['a', 'b'],
  );
  t.is(
    mergedOrder([Array.from({length: 20_000}, (_, i) => `${i}`), Array.from({length: 20_000}, (_, i) => `${20_000 - i}`)]).length,
    20_001,
  );
  t.deepEqual(
    mergedGroups([
      [{metadata: {name: 'g'}, versions: [{version: 'v1', resources: [{resource: 'a'}]}]}],
      [{metadata: {name: 'g'}, versions: [{version: 'v2'}, {version: 'v1', resources: [{resource: 'b'}]}]}],
    ]),
    [{metadata: {name: 'g'}, versions: [{version: 'v2'}, {version: 'v1', resources: [{resource: 'a'}, {resource: 'b'}]}]}],
  );
});
