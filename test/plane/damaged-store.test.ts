import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {startTogether} from './lockstep.js';
import {wire} from '#test/apiserver/wire.js';

const gate = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true';
const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const admin = {name: 'admin', groups: ['system:masters']};

/** How many bytes of a value are looked for in the file, in which long ones are in several places. */
const tailBytes = 60;

/** What is damaged: each record that holds one of the marks, or that of each key. */
interface Damage {
  readonly marks?: readonly string[];
  readonly keys?: readonly string[];
  /** How long the first server runs. */
  readonly ageMs?: number;
}

/** Objects of users, of which some are damaged. */
const fill = async (client: Client): Promise<void> => {
  for (const name of ['kept', 'lost', 'other'])
    await client.resource(kinds.configMaps).create({metadata: {name, namespace: 'default'}, data: {text: `content of ${name}`}});
  await client
    .resource(kinds.roles)
    .create({metadata: {name: 'reader', namespace: 'default'}, rules: [{apiGroups: [''], resources: ['of-role'], verbs: ['get']}]});
  await client
    .resource(kinds.services)
    .create({metadata: {name: 'lost', namespace: 'default', labels: {mark: 'of-service'}}, spec: {ports: [{port: 80}]}});
  await client.resource(kinds.apiServices).create({
    metadata: {name: 'v1.example.com', labels: {mark: 'of-apiservice'}},
    spec: {
      group: 'example.com',
      version: 'v1',
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      insecureSkipTLSVerify: true,
      service: {name: 'lost', namespace: 'default'},
    },
  });
};

/**
 * A store that a server has filled and closed, in which a byte of each damaged record was changed, and how a server
 * starts on it.
 */
const aDamagedStore = async (t: ExecutionContext, {marks = [], keys = [], ageMs = 0}: Damage, ...args: readonly string[]) => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-damaged-'));
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  const clock = new VirtualClock();
  const reports: string[] = [];
  const start = async () => {
    const store = await openEmbeddedStore({directory, naming: 'kubernetes', clock});
    t.teardown(() => store.close());
    const [api] = await startTogether({store, clock, count: 1, args, reported: line => reports.push(line)});
    return {api: api!, store};
  };
  const first = await start();
  await fill(first.api.clientAs(admin));
  await clock.advance(ageMs);
  await first.api.close();
  await first.store.close();
  const closed = await openEmbeddedStore({directory, naming: 'kubernetes', clock});
  const damaged: Uint8Array[] = marks.map(mark => Buffer.from(mark));
  for (const key of keys) damaged.push((await closed.get(key))!.value.subarray(-tailBytes));
  await closed.close();
  const path = join(directory, 'data.mdb');
  const file = readFileSync(path);
  for (const mark of damaged) for (let at = file.indexOf(mark); at >= 0; at = file.indexOf(mark, at + 1)) file[at]! ^= 1;
  writeFileSync(path, file);
  reports.length = 0;
  return {clock, reports, start};
};

/** A server on a damaged store. */
const aServer = async (t: ExecutionContext, damage: Damage, ...args: readonly string[]) => {
  const {start, ...rest} = await aDamagedStore(t, damage, ...args);
  const {api, store} = await start();
  t.teardown(() => api.close());
  return {...rest, store, ...wire(api.handler)};
};

/** The message of a Status. */
const messageIn = (response: {json(): unknown}): string => (response.json() as {message: string}).message;

const url = '/api/v1/namespaces/default/configmaps';

test('a damaged object is an error of its own reads and of lists of its kind; the server starts and serves the rest', async t => {
  const {get, remove} = await aServer(t, {marks: ['content of lost', 'of-role']});

  const one = await get(`${url}/lost`);
  t.is(one.status, 500);
  t.regex(
    messageIn(one),
    /^the record of "\/registry\/configmaps\/default\/lost" at revision \d+ is damaged: restore a snapshot \(plat snapshot restore\), or delete it with --feature-gates=/,
  );
  t.is(messageIn(await get(url)), messageIn(one));
  t.is((await get(`${url}/kept`)).status, 200);
  t.is((await get('/api/v1/namespaces')).status, 200);
  t.is((await get('/apis/rbac.authorization.k8s.io/v1/roles')).status, 500);
  t.is((await remove(`${url}/lost`, {body: {[option]: true}})).status, 500);
});

test('with the gate for unreadable objects, lists name the damaged ones, and those can be deleted', async t => {
  const {get, remove} = await aServer(t, {marks: ['content of lost', 'content of other']}, gate);
  const text = (name: string): RegExp =>
    new RegExp(
      `^StorageError: corrupt object, Code: 7, Key: /registry/configmaps/default/${name}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=\\d+: the record of "/registry/configmaps/default/${name}" at revision \\d+ is damaged$`,
    );

  const one = (await get(`${url}/lost`)).json() as unknown as {message: string};
  t.like(one, {code: 500, status: 'Failure'});
  t.regex(one.message, text('lost'));
  const list = (await get(url)).json() as unknown as {details: {causes: {message: string; field: string; reason: string}[]}};
  t.like(list, {code: 500, reason: 'StorageReadError', message: 'failed to read one or more configmaps from the storage'} as never);
  t.like(list.details, {name: 'list', kind: 'configmaps'} as never);
  t.deepEqual(
    list.details.causes.map(({reason, field}) => [reason, field]),
    ['lost', 'other'].map(name => ['UnexpectedServerResponse', `/registry/configmaps/default/${name}`]),
  );
  t.regex(list.details.causes[1]!.message, text('other'));

  for (const name of ['lost', 'other']) t.is((await remove(`${url}/${name}`, {body: {[option]: true}})).status, 200);
  t.is((await get(`${url}/lost`)).status, 404);
  const left = (await get(url)).json() as unknown as {items: {metadata: {name: string}}[]};
  t.deepEqual(
    left.items.map(({metadata}) => metadata.name).filter(name => name !== 'kube-root-ca.crt'),
    ['kept'],
  );
});

/** A record of each kind that the server writes itself, and what else it writes. */
const own = [
  'apiregistration.k8s.io/apiservices/v1.apps',
  'clusterrolebindings/cluster-admin',
  'clusterroles/cluster-admin',
  'configmaps/kube-system/extension-apiserver-authentication',
  'configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking',
  'endpointslices/default/kubernetes',
  'flowschemas/exempt',
  'flowschemas/service-accounts',
  'ipaddresses/10.96.0.1',
  'namespaces/default',
  'namespaces/kube-system',
  'priorityclasses/system-node-critical',
  'prioritylevelconfigurations/exempt',
  'prioritylevelconfigurations/workload-low',
  'rolebindings/kube-system/system:controller:token-cleaner',
  'roles/kube-system/system:controller:token-cleaner',
  'servicecidrs/kubernetes',
  'services/endpoints/default/kubernetes',
].map(name => `/registry/${name}`);

test('damaged records of the objects that a server writes itself are written anew at its start, with a line for each', async t => {
  const {store, reports, get} = await aServer(t, {keys: own});

  for (const key of own) {
    t.is(reports.filter(line => line.includes('is written anew') && line.includes(`the record of "${key}" at`)).length, 1, key);
    t.truthy(await store.get(key), key);
  }
  for (const path of ['/apis/apiregistration.k8s.io/v1/apiservices', '/apis/rbac.authorization.k8s.io/v1/roles', '/api/v1/namespaces'])
    t.is((await get(path)).status, 200, path);
});

test('the damaged service of the API servers is written anew with its address', async t => {
  const {clock, get} = await aServer(t, {keys: ['/registry/services/specs/default/kubernetes'], ageMs: 61_000});

  await clock.advance(15_000);
  t.like((await get('/api/v1/namespaces/default/services/kubernetes')).json(), {spec: {clusterIP: '10.96.0.1'}});
});

for (const [mark, plural, key] of [
  ['of-apiservice', 'apiservices.apiregistration.k8s.io', 'apiregistration.k8s.io/apiservices/v1.example.com'],
  ['of-service', 'services', 'services/specs/default/lost'],
] as const)
  test(`a damaged object in ${plural} that the server must list ends its start after half a minute, with what helps`, async t => {
    const {start} = await aDamagedStore(t, {marks: [mark]});

    const {message} = (await t.throwsAsync(start()))!;
    t.true(message.startsWith(`the cache of ${plural} is not synced`), message);
    t.true(message.includes(`the record of "/registry/${key}" at revision`), message);
    t.true(message.includes('is damaged: restore a snapshot (plat snapshot restore), or delete it with --feature-gates='), message);
  });
