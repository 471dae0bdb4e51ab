import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {recordText} from '#src/apiserver/registry/record.js';
import {systemClock} from '#src/base/clock.js';
import {naming as namingOf} from '#src/api/naming.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import {aesGcm} from '#src/storage/encryption/aes.js';
import type {Decrypted} from '#src/storage/encryption/cipher.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {wire} from '#test/apiserver/wire.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

const secret = Buffer.alloc(32, 7);
const prefix = 'k8s:enc:aesgcm:v1:one:';

(hasEtcd ? test : test.skip)('in etcd a secret is protobuf that is encrypted under its key, and large requests write the same', async t => {
  const server = await EtcdServer.start();
  const directory = mkdtempSync(join(tmpdir(), 'plat-encryption-'));
  const path = join(directory, 'encryption.yaml');
  writeFileSync(
    path,
    `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aesgcm: {keys: [{name: one, secret: ${secret.toString('base64')}}]}
`,
  );
  const plane = await startPlane({
    controllers: 'none',
    apiserverArgs: [`--kvstore-servers=${server.url}`, `--encryption-provider-config=${path}`],
  });
  const channel = new GrpcChannel({servers: [server.url], clock: systemClock});
  try {
    const {post, get} = wire(plane.api.handler);
    const names = {small: {a: 'value'}, large: Object.fromEntries(Array.from({length: 20_000}, (_, i) => [`key-${i}`, 'value']))};
    const naming = namingOf('kubernetes');
    const encoding = await recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false});
    for (const [name, stringData] of Object.entries(names)) {
      t.is((await post('/api/v1/namespaces/default/secrets', {metadata: {name}, stringData})).status, 201);
      const key = `/registry/secrets/default/${name}`;
      const {kvs} = await new EtcdClient({channel, clock: systemClock}).range({start: key});
      const bytes = kvs[0]!.value;
      t.is(bytes.toString('latin1', 0, prefix.length), prefix);
      const {value} = aesGcm(secret).decrypt(bytes.subarray(prefix.length), key) as Decrypted;
      t.is(value.toString('latin1', 0, 4), 'k8s\0');
      t.like(JSON.parse(recordText(encoding.decode(key, value))), {kind: 'Secret', metadata: {name}});
      t.is(
        Object.keys((await get(`/api/v1/namespaces/default/secrets/${name}`)).json<{data: object}>().data).length,
        Object.keys(stringData).length,
      );
    }
  } finally {
    await channel[Symbol.asyncDispose]();
    await plane.stop();
    await server.stop();
    rmSync(directory, {recursive: true, force: true});
  }
});
if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);
