import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {startTogether} from './lockstep.js';
import {wire} from '#test/apiserver/wire.js';

const gate = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true';
const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const admin = {name: 'admin', groups: ['system:masters']};

/** A server on an embedded store in which a byte of each record that holds one of the marks was changed. */
const aServer = async (t: ExecutionContext, marks: readonly string[], ...args: readonly string[]) => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-damaged-'));
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  const clock = new VirtualClock();
  const start = async () => {
    const store = await openEmbeddedStore({directory, naming: 'kubernetes', clock});
    const [api] = await startTogether({store, clock, count: 1, args, reported() {}});
    return {api: api!, store};
  };
  const first = await start();
  const client = first.api.clientAs(admin);
  for (const name of ['kept', 'lost', 'other'])
    await client.resource(kinds.configMaps).create({metadata: {name, namespace: 'default'}, data: {text: `content of ${name}`}});
  await client
    .resource(kinds.roles)
    .create({metadata: {name: 'reader', namespace: 'default'}, rules: [{apiGroups: [''], resources: ['of-role'], verbs: ['get']}]});
  await first.api.close();
  await first.store.close();
  const path = join(directory, 'data.mdb');
  const file = readFileSync(path);
  for (const mark of marks) for (let at = file.indexOf(mark); at >= 0; at = file.indexOf(mark, at + 1)) file[at]! ^= 1;
  writeFileSync(path, file);
  const {api, store} = await start();
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  return {store, ...wire(api.handler)};
};

/** The message of a Status. */
const messageIn = (response: {json(): unknown}): string => (response.json() as {message: string}).message;

const url = '/api/v1/namespaces/default/configmaps';

test('a damaged object is an error of its own reads and of lists of its kind; the server starts and serves the rest', async t => {
  const {get, remove} = await aServer(t, ['content of lost', 'of-role']);

  const one = await get(`${url}/lost`);
  t.is(one.status, 500);
  t.regex(messageIn(one), /^the record of "\/registry\/configmaps\/default\/lost" at revision \d+ is damaged$/);
  t.is(messageIn(await get(url)), messageIn(one));
  t.is((await get(`${url}/kept`)).status, 200);
  t.is((await get('/api/v1/namespaces')).status, 200);
  t.is((await get('/apis/rbac.authorization.k8s.io/v1/roles')).status, 500);
  t.is((await remove(`${url}/lost`, {body: {[option]: true}})).status, 500);
});

test('with the gate for unreadable objects, lists name the damaged ones, and those can be deleted', async t => {
  const {get, remove} = await aServer(t, ['content of lost', 'content of other'], gate);
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
