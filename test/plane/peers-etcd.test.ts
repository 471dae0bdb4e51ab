import test from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openStore} from '#src/storage/backend/open.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';
import {aPeerServer, shared} from './peer-servers.js';

const naming = namingOf('kubernetes');

(hasEtcd ? test : test.skip)(`servers on one etcd pass requests to each other${hasEtcd ? '' : ` (${etcdMissing})`}`, async t => {
  const etcd = await EtcdServer.start();
  t.teardown(() => etcd.stop());
  const clock = new VirtualClock();
  const store = await openStore({
    backend: 'etcd3',
    directory: '',
    naming: 'kubernetes',
    clock,
    random: systemRandom,
    log: noLog,
    timeoutMs: 60_000,
    servers: {
      urls: [etcd.url],
      prefix: '/registry',
      cached: true,
      tls: {caFile: '', certFile: '', keyFile: ''},
      encoding: () => recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false}),
    },
  });
  t.teardown(() => store.close());
  const old = await aPeerServer(t, {store: shared(store), clock, host: 'old'});
  const fresh = await aPeerServer(t, {
    store: shared(store),
    clock,
    host: 'fresh-one',
    args: ['--runtime-config=coordination.k8s.io/v1beta1=true'],
  });

  const path = '/apis/coordination.k8s.io/v1beta1/leasecandidates';
  for (let i = 0; i < 100 && (await old.ask('GET', path)).status === 404; i++) await clock.advance(100);
  t.is((await old.ask('GET', path)).status, 200);
  t.is((await fresh.ask('GET', path)).status, 200);
  await fresh.close();
  await old.close();
});
