import {X509Certificate} from 'node:crypto';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import {systemClock} from '#src/base/clock.js';
import {localServingPair, planeMaterial} from '#src/plane/inputs/material.js';
import {openStore} from '#src/storage/backend/open.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {MessageWriter} from '#src/transport/grpc/message.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

const naming = namingOf('kubernetes');
const etcdTest = hasEtcd ? test : test.skip;
if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);

const permissions = {read: 0, write: 1, readAndWrite: 2};
const value = encodeRecord({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a', namespace: 'default'}});

etcdTest('etcd knows a server by the common name of its certificate, and a permission that it lacks is named', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-users-'));
  const {files, authority} = await planeMaterial(join(directory, 'tls'), systemClock);
  const pair = await localServingPair(join(directory, 'tls', 'server'), {files, authority}, systemClock);
  const server = await EtcdServer.start({ca: files.ca, cert: join(pair.directory, 'tls.crt'), key: join(pair.directory, 'tls.key')});
  t.teardown(async () => {
    await server.stop();
    rmSync(directory, {recursive: true, force: true});
  });
  const [ca, cert, key] = [files.ca, files.admin, files.adminKey].map(path => readFileSync(path)) as [Buffer, Buffer, Buffer];
  const user = /CN=(.*)/.exec(new X509Certificate(cert).subject)![1]!;
  const admin = new GrpcChannel({servers: [server.url], clock: systemClock, tls: async () => ({ca, cert, key})});
  const call = (method: string, message: MessageWriter) => admin.call(`/etcdserverpb.Auth/${method}`, message.finish(), 5000);
  const texts = (...fields: readonly string[]) =>
    fields.reduce((message, text, index) => message.bytes(index + 1, text), new MessageWriter());
  const grant = (kind: number, start: string, end: string) =>
    call(
      'RoleGrantPermission',
      new MessageWriter().bytes(1, 'servers').message(2, new MessageWriter().int(1, kind).bytes(2, start).bytes(3, end)),
    );
  await call('UserAdd', texts('root', 'secret'));
  await call('UserGrantRole', texts('root', 'root'));
  await call('RoleAdd', texts('servers'));
  await call('UserAdd', texts(user, 'unused'));
  await call('UserGrantRole', texts(user, 'servers'));
  await grant(permissions.readAndWrite, '/allowed/', '/allowed0');
  await grant(permissions.readAndWrite, 'compact_rev_key', '');
  await grant(permissions.readAndWrite, 'plat_store/allowed', '');
  await grant(permissions.read, '\0', '\0');
  await call('AuthEnable', new MessageWriter());
  await admin[Symbol.asyncDispose]();

  const open = (prefix: string, timeoutMs: number) =>
    openStore({
      backend: 'etcd3',
      directory: '',
      naming: 'kubernetes',
      timeoutMs,
      servers: {
        urls: [server.url],
        prefix,
        cached: true,
        tls: {caFile: files.ca, certFile: files.admin, keyFile: files.adminKey},
        encoding: () => recordEncoding({naming, mediaType: 'application/json', cbor: false}),
      },
    });
  const store = await open('/allowed', 10_000);
  const created = await store.create('/allowed/configmaps/default/a', value);
  t.is((await store.get('/allowed/configmaps/default/a'))?.revision, created);
  t.like(await store.takeTurn!(0, 0), {taken: true});
  await store.close();

  await t.throwsAsync(open('/other', 700), {
    instanceOf: StoreUnusable,
    message:
      '--storage-initialization-timeout: the store was not ready within 0.7 s: etcdserver: permission denied (etcd takes the common name of --kvstore-certfile for the user)',
  });
});
