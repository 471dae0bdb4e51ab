import {randomBytes} from 'node:crypto';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Store} from '#src/storage/store.js';
import {startTogether} from './lockstep.js';
import {shared} from './peer-servers.js';
import {aFile} from '#test/apiserver/authorization/environment.js';
import {wire} from '#test/apiserver/wire.js';

const url = '/api/v1/namespaces/default/secrets';
const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const unsafe = {[option]: true};
const gate = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true';
const key = '/registry/secrets/default/lost';
const deleter = {name: 'deleter', groups: ['system:authenticated']};

const configuration = (secret: Buffer): string =>
  aFile(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{resources: ['secrets'], providers: [{aesgcm: {keys: [{name: 'k', secret: secret.toString('base64')}]}}]}],
    }),
  );

/** A server on a store in which the secret `lost` cannot be read: its key is gone, or its record is damaged. */
const aServer = async (t: ExecutionContext, damage: 'key' | 'record', ...args: readonly string[]) => {
  const clock = new VirtualClock();
  const store: Store = shared(memoryStore({clock}));
  const start = async (secret: Buffer) => {
    const [api] = await startTogether({
      store,
      clock,
      count: 1,
      args: [...args, ...(damage === 'key' ? [`--encryption-provider-config=${configuration(secret)}`] : [])],
      reported() {},
    });
    return api!;
  };
  let api = await start(randomBytes(32));
  const secrets = api.clientAs({name: 'admin', groups: ['system:masters']}).resource(kinds.secrets);
  await secrets.create({metadata: {name: 'lost', namespace: 'default', finalizers: ['example.com/keep']}});
  if (damage === 'record') {
    const {value, revision} = (await store.get(key))!;
    await store.update(key, Buffer.concat([value.subarray(0, -1), Buffer.from('!')]), revision);
  } else {
    await api.close();
    api = await start(randomBytes(32));
  }
  await api
    .clientAs({name: 'admin', groups: ['system:masters']})
    .resource(kinds.secrets)
    .create({metadata: {name: 'kept', namespace: 'default'}});
  t.teardown(() => api.close());
  return {api, store, ...wire(api.handler)};
};

for (const damage of ['key', 'record'] as const)
  test(`an object is deleted although its ${damage} is unusable, whatever its finalizers`, async t => {
    const {store, get, remove} = await aServer(t, damage, gate);
    if (damage === 'key') t.is((await get(`${url}/lost`)).status, 500);
    t.is((await remove(`${url}/lost`)).status, 500);

    const forbidden = await remove(`${url}/lost`, {body: unsafe, user: deleter});
    t.is(forbidden.status, 403);
    t.like((await remove(`${url}/kept`, {body: unsafe})).json(), {
      code: 422,
      message: `secrets "kept" is invalid: ${option}: Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option`,
    });
    const removed = await remove(`${url}/lost?${option}=true`);
    t.like(removed.json(), {kind: 'Status', status: 'Success', details: {name: 'lost', kind: 'Secret'}});
    t.is(await store.get(key), undefined);
    t.is((await get(`${url}/lost`)).status, 404);
    t.is((await get(url)).status, 200);
  });

test('the permission to delete is not enough, and the option stands alone', async t => {
  const {api, remove} = await aServer(t, 'record', gate, '--authorization-mode=RBAC');
  const client = api.clientAs({name: 'admin', groups: ['system:masters']});
  await client.resource(kinds.roles).create({
    metadata: {name: 'deleter', namespace: 'default'},
    rules: [{apiGroups: [''], resources: ['secrets'], verbs: ['delete', 'deletecollection']}],
  });
  await client.resource(kinds.roleBindings).create({
    metadata: {name: 'deleter', namespace: 'default'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'deleter'},
    subjects: [{kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'deleter'}],
  });

  const refused = await remove(`${url}/lost`, {body: unsafe, user: deleter});
  t.regex(refused.text, /secrets \\"lost\\" is forbidden: not permitted to do \\"unsafe-delete-ignore-read-errors\\", reason: /);
  for (const other of [
    {dryRun: ['All']},
    {propagationPolicy: 'Orphan'},
    {orphanDependents: true},
    {gracePeriodSeconds: 0},
    {preconditions: {uid: 'u'}},
  ]) {
    const both = await remove(`${url}/lost`, {body: {...unsafe, ...other}});
    t.like(both.json(), {code: 422}, JSON.stringify(other));
    t.true(both.text.includes(`cannot be set together with .${Object.keys(other)[0]}`));
  }
  t.regex((await remove(url, {body: unsafe})).text, /is not allowed with DELETECOLLECTION, try again after removing the option/);
});

test('without the gate the option is ignored', async t => {
  const {remove} = await aServer(t, 'record');

  t.is((await remove(`${url}/lost`, {body: unsafe})).status, 500);
  t.is((await remove(`${url}/kept`, {body: unsafe})).status, 200);
});
