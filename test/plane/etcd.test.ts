import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import {systemClock} from '#src/base/clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {localServingPair, planeMaterial} from '#src/plane/inputs/material.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {openStore} from '#src/storage/backend/open.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {MessageWriter} from '#src/transport/grpc/message.js';
import {NodePorts} from '#src/apiserver/allocation/ports.js';
import {noMeter} from '#src/base/meter.js';
import {systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {filledObjects} from '#test/reference/round-trips.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';
import {hasKubectl, Kubectl} from '#test/e2e/kubectl.js';

const naming = namingOf('kubernetes');

/** Started before anything is declared, as it must be. */
const server = hasEtcd ? await EtcdServer.start() : undefined;

/** Only these differ: no object in the store has a resourceVersion. */
const withoutVersion = (object: KubeObject): KubeObject => {
  const {resourceVersion: _, ...metadata} = object.metadata ?? {};
  return {...object, metadata};
};

const stored = /^(v1 (Pod|Service|Secret|Node)|apps\/v1 Deployment|certificates\.k8s\.io\/v1 CertificateSigningRequest)$/;

for (const {apiVersion, kind, object: filledObject} of filledObjects().filter(each => stored.test(`${each.apiVersion} ${each.kind}`)))
  test(`a ${kind} of ${apiVersion} lies in the store as the original puts it there`, async t => {
    const bytes = encodeObject(filledObject, naming);
    const form = await recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false});
    const expected = encodeObject({...withoutVersion(decodeObject(bytes, naming) as unknown as KubeObject)}, naming);

    const record = form.decode('', bytes);

    t.deepEqual(form.encode('', record), expected);
    t.deepEqual(form.decode('', form.encode('', record)), record);
  });

const object: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name: 'a', namespace: 'default', uid: 'u'},
  data: {x: 'y'},
} as KubeObject;
const custom: KubeObject = {apiVersion: 'ex.io/v1', kind: 'Test', metadata: {name: 'a'}, spec: {a: 1}} as KubeObject;

test('objects are stored in the configured media type, custom ones as JSON or CBOR, and read in any', async t => {
  const plain = (record: Buffer): string =>
    recordObject<KubeObject>(record, 1) && JSON.stringify({...recordObject<KubeObject>(record, 1), metadata: undefined});
  const settings = [
    ['application/json', false],
    ['application/yaml', false],
    [naming.protobufMediaType, false],
    [naming.protobufMediaType, true],
  ] as const;
  const forms = await Promise.all(settings.map(([mediaType, cbor]) => recordEncoding({naming, mediaType, cbor})));
  const written = forms.map(form => form.encode('', encodeRecord(object)));
  const customs = forms.map(form => form.encode('', encodeRecord(custom)));

  t.is(
    written[0]!.toString(),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u"},"data":{"x":"y"}}\n',
  );
  t.is(written[1]!.toString(), 'apiVersion: v1\ndata:\n  x: "y"\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n  uid: u\n');
  t.is(written[2]!.toString('latin1', 0, 4), 'k8s\0');
  t.deepEqual(written[3], written[2]);
  for (const bytes of customs.slice(0, 3))
    t.is(bytes.toString(), '{"kind":"Test","apiVersion":"ex.io/v1","metadata":{"name":"a"},"spec":{"a":1}}\n');
  t.is(customs[3]!.toString('hex', 0, 3), 'd9d9f7');
  for (const form of forms) {
    for (const bytes of written) t.is(plain(form.decode('', bytes)), plain(encodeRecord(object)));
    for (const bytes of customs) t.is(plain(form.decode('', bytes)), plain(encodeRecord(custom)));
  }
  const other = await recordEncoding({naming: namingOf('plat'), mediaType: namingOf('plat').protobufMediaType, cbor: false});
  t.throws(() => other.decode('', written[2]!));
  t.is(other.encode('', encodeRecord(object)).toString('latin1', 0, 4), 'plt\0');
});

/** The stored bytes of an object, as another writer may have put them there. */
const shownOf = async (object: object): Promise<KubeObject> => {
  const form = await recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false});
  return recordObject<KubeObject>(form.decode('', encodeObject(object as Record<string, unknown>, naming)), 1);
};

test('an object in another version than the one that is stored is read as if it lay there in that one', async t => {
  const scaler = await shownOf({
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: {name: 'a'},
    spec: {scaleTargetRef: {kind: 'Deployment', name: 'x'}, maxReplicas: 3, targetCPUUtilizationPercentage: 50},
  });
  const old = await shownOf({apiVersion: 'apps/v1beta2', kind: 'Deployment', metadata: {name: 'a'}, spec: {replicas: 2}});

  t.like(scaler, {
    apiVersion: 'autoscaling/v2',
    spec: {metrics: [{type: 'Resource', resource: {name: 'cpu'}}]},
    status: {currentMetrics: null},
  });
  t.like(old, {apiVersion: 'apps/v1', spec: {replicas: 2}});
});

test('an object is written in a version that the oldest servers know, and read back as it was', async t => {
  const claim = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: {name: 'a', namespace: 'default'},
    spec: {devices: {requests: [{name: 'r', exactly: {deviceClassName: 'c', allocationMode: 'ExactCount', count: 1}}]}},
  } as KubeObject;
  const addresses = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IPAddress',
    metadata: {name: '10.0.0.1'},
    spec: {parentRef: {group: '', resource: 'services', namespace: 'n', name: 's'}},
  } as KubeObject;
  const versionsOf = async (minCompatibility: string, mediaType: string) => {
    const form = await recordEncoding({naming, mediaType, cbor: false, minCompatibility});
    return [claim, addresses, object].map(each => {
      const bytes = form.encode('', encodeRecord(each));
      t.deepEqual(form.decode('', bytes), form.decode('', form.encode('', form.decode('', bytes))));
      t.is(recordObject<KubeObject>(form.decode('', bytes), 1).apiVersion, each.apiVersion);
      return (mediaType === 'application/json' ? (JSON.parse(bytes.toString()) as KubeObject) : decodeObject(bytes, naming)).apiVersion;
    });
  };

  for (const mediaType of ['application/json', naming.protobufMediaType]) {
    t.deepEqual(await versionsOf('1.34', mediaType), ['resource.k8s.io/v1', 'networking.k8s.io/v1', 'v1']);
    t.deepEqual(await versionsOf('1.33', mediaType), ['resource.k8s.io/v1beta2', 'networking.k8s.io/v1', 'v1']);
    t.deepEqual(await versionsOf('1.32', mediaType), ['resource.k8s.io/v1beta1', 'networking.k8s.io/v1beta1', 'v1']);
  }
  const flat = await recordEncoding({naming, mediaType: 'application/json', cbor: false, minCompatibility: '1.32'});
  t.deepEqual((JSON.parse(flat.encode('', encodeRecord(claim)).toString()) as {spec: unknown}).spec, {
    devices: {requests: [{name: 'r', deviceClassName: 'c', allocationMode: 'ExactCount', count: 1}]},
  });
});

test('fields that protobuf leaves out are restored', async t => {
  const set = await shownOf({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: {name: 'a'},
    spec: {volumeClaimTemplates: [{metadata: {name: 'v'}}]},
  });
  const slice = await shownOf({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: 'a'},
    addressType: 'IPv4',
    endpoints: [],
    ports: [],
  });

  t.like(set, {spec: {volumeClaimTemplates: [{apiVersion: 'v1', kind: 'PersistentVolumeClaim'}]}});
  t.like(slice, {endpoints: null, ports: null});
});

test('ports of other allocations are read also while none is allocated', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const object = {apiVersion: 'v1', kind: 'RangeAllocation', metadata: {}, range: '30000-32767'};
  await store.create('/r/ranges/servicenodeports', encodeRecord(object as KubeObject));
  const ports = new NodePorts({store, prefix: '/r', naming, random: systemRandom, meter: noMeter}, {from: 30000, to: 32767});

  t.deepEqual(await ports.taken(), []);
});

if (server) {
  const channel = new GrpcChannel({servers: [server.url], clock: systemClock});
  const client = new EtcdClient({channel, clock: systemClock});
  const directory = mkdtempSync(join(tmpdir(), 'plat-on-etcd-'));
  test.after.always(async () => {
    await client.close();
    await server.stop();
    rmSync(directory, {recursive: true, force: true});
  });

  const start = (name: string, ...args: string[]): Promise<Plane> =>
    startPlane({
      naming: 'kubernetes',
      dataDir: join(directory, name),
      listen: name === 'kubectl',
      controllerManagerArgs: ['--controllers=serviceaccount-controller'],
      apiserverArgs: [`--kvstore-servers=${server.url}`, `--kvstore-prefix=/${name}`, ...args],
    });
  const settings = {namespace: 'default'};
  const aMap = (name: string, data: Record<string, string> = {}) => ({metadata: {name, namespace: 'default'}, data});

  test.serial("an API server lives on etcd: it creates, watches, starts again and outlives the servers' death", async t => {
    let plane = await start('life');
    const maps = () => plane.client().resource(kinds.configMaps);
    const created = await maps().create(aMap('a', {x: '1'}));
    const {kvs} = await client.range({start: '/life/configmaps/default/a'});
    await plane.stop();

    t.is(kvs[0]!.value.toString('latin1', 0, 4), 'k8s\0');
    t.is(String(kvs[0]!.revision), created.metadata!.resourceVersion!);
    t.like(decodeObject(kvs[0]!.value, naming) as unknown as Record<string, unknown>, {kind: 'ConfigMap', data: {x: '1'}});

    plane = await start('life', '--kvstore-compaction-interval=100ms');
    const found = await maps().get('a', settings);
    t.is(found.metadata!.resourceVersion, created.metadata!.resourceVersion);
    await server.kill();
    const waiting = maps().get('a', settings);
    await server.resume();
    t.is((await waiting).data!['x'], '1');
    await maps().create(aMap('b'));
    const {items} = await maps().list({...settings, resourceVersion: '0'});
    t.true(items.some(item => item.metadata!.name === 'b'));

    const old = {...settings, resourceVersion: created.metadata!.resourceVersion!, resourceVersionMatch: 'Exact'} as const;
    for (let code: number | undefined = 200; code === 200;) {
      code = await maps()
        .list(old)
        .then(
          () => 200,
          (error: StatusError) => error.status.code,
        );
      t.true(code === 200 || code === 410);
    }
    await plane.stop();
  });

  test.serial(
    'servers that require certificates are reached with the files of the flags, and a refused client gets the reason',
    async t => {
      const {files, authority} = await planeMaterial(join(directory, 'tls'), systemClock);
      const pair = await localServingPair(join(directory, 'tls', 'server'), {files, authority}, systemClock);
      const guarded = await EtcdServer.start({ca: files.ca, cert: join(pair.directory, 'tls.crt'), key: join(pair.directory, 'tls.key')});
      const open = (tls: {caFile: string; certFile: string; keyFile: string}, timeoutMs: number, url = guarded.url) =>
        openStore({
          backend: 'etcd3',
          directory: '',
          naming: 'kubernetes',
          timeoutMs,
          servers: {
            urls: [url],
            prefix: '/tls',
            cached: true,
            tls,
            encoding: () => recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false}),
          },
        });

      const store = await open({caFile: files.ca, certFile: files.admin, keyFile: files.adminKey}, 10_000);
      t.true((await store.create('/tls/a', encodeRecord(object))) > 1);
      await store.close();
      const late = (reason: string) => ({
        instanceOf: StoreUnusable,
        message: `--storage-initialization-timeout: the store was not ready within 0.5 s: ${reason}`,
      });
      const handshake = 'transport: authentication handshake failed: ';
      await t.throwsAsync(
        open({caFile: files.ca, certFile: '', keyFile: ''}, 500),
        late(
          `${guarded.url}: remote error: tls: bad certificate (the certificate this server shows is given by --kvstore-certfile and --kvstore-keyfile)`,
        ),
      );
      await t.throwsAsync(
        open({caFile: '', certFile: files.admin, keyFile: files.adminKey}, 500),
        late(
          `${guarded.url}: ${handshake}tls: failed to verify certificate: x509: certificate signed by unknown authority (the authority of the store's servers is given by --kvstore-cafile)`,
        ),
      );
      await t.throwsAsync(
        open({caFile: files.ca, certFile: '', keyFile: ''}, 500, server.url.replace('http', 'https')),
        late(`${server.url.replace('http', 'https')}: ${handshake}EOF (is it http or https in --kvstore-servers?)`),
      );
      await t.throwsAsync(
        open({caFile: '', certFile: '', keyFile: ''}, 500, guarded.url.replace('https', 'http')),
        late(`${guarded.url.replace('https', 'http')}: error reading server preface: EOF (is it http or https in --kvstore-servers?)`),
      );
      await t.throwsAsync(open({caFile: join(directory, 'none'), certFile: '', keyFile: ''}, 500), {
        instanceOf: StoreUnusable,
        message: /^--kvstore-cafile: ENOENT/,
      });
      await guarded.stop();
    },
  );

  test.serial('a store that requires users is reported as such', async t => {
    const private_ = await EtcdServer.start();
    t.teardown(() => private_.stop());
    const admin = new GrpcChannel({servers: [private_.url], clock: systemClock});
    const call = (method: string, ...fields: string[]) =>
      admin.call(
        `/etcdserverpb.Auth/${method}`,
        fields.reduce((message, text, index) => message.bytes(index + 1, text), new MessageWriter()).finish(),
        5000,
      );
    await call('UserAdd', 'root', 'secret');
    await call('UserGrantRole', 'root', 'root');
    await call('AuthEnable');
    await admin[Symbol.asyncDispose]();
    const reasons = new Set<string>();

    const opened = openStore({
      backend: 'etcd3',
      directory: '',
      naming: 'kubernetes',
      timeoutMs: 700,
      waiting: reason => reasons.add(reason),
      servers: {
        urls: [private_.url],
        prefix: '/users',
        cached: true,
        tls: {caFile: '', certFile: '', keyFile: ''},
        encoding: () => recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false}),
      },
    });

    const reason = 'etcdserver: user name is empty (etcd takes the common name of --kvstore-certfile for the user)';
    await t.throwsAsync(opened, {
      instanceOf: StoreUnusable,
      message: `--storage-initialization-timeout: the store was not ready within 0.7 s: ${reason}`,
    });
    t.deepEqual([...reasons], [reason]);
  });

  test.serial("two API servers over one store see each other's writes", async t => {
    const [one, other] = [
      await start('shared', '--service-cluster-ip-range=10.96.0.0/24'),
      await start('shared', '--service-cluster-ip-range=10.96.0.0/24'),
    ];
    const services = (plane: Plane) => plane.client().resource(kinds.services);
    const aService = (name: string) => ({
      metadata: {name, namespace: 'default'},
      spec: {type: 'NodePort', selector: {a: 'b'}, ports: [{port: 80}]},
    });

    const made = await Promise.all(Array.from({length: 12}, (_, i) => services(i % 2 ? one : other).create(aService(`s${i}`))));

    t.is(new Set(made.map(({spec}) => spec!.clusterIP)).size, 12);
    t.is(new Set(made.map(({spec}) => spec!.ports![0]!.nodePort)).size, 12);
    for (const plane of [one, other]) t.is((await services(plane).list(settings)).items.length, 13);
    await Promise.all([one.stop(), other.stop()]);
  });

  test.serial('metrics have the size of the store, unless they are off', async t => {
    const ask = async (plane: Plane): Promise<string> => {
      const answer = await plane.api.handler({
        method: 'GET',
        url: '/metrics',
        headers: {},
        caller: {user: {name: 'admin', groups: ['system:masters']}},
        remoteAddress: '',
        signal: new AbortController().signal,
      });
      return answer.body.kind === 'bytes' ? Buffer.from(answer.body.bytes).toString() : '';
    };
    const plane = await start('metrics', '--kvstore-count-metric-poll-period=50ms');
    let text = '';
    while (!/^apiserver_storage_objects\{resource="namespaces"\} 4$/m.test(text)) {
      await yieldToEventLoop(); // An answer may take no turn of the event loop, which the poll needs.
      text = await ask(plane);
    }
    await plane.stop();
    const silent = await start('metrics', '--kvstore-count-metric-poll-period=0', '--kvstore-db-metric-poll-interval=0');
    const nothing = await ask(silent);
    await silent.stop();

    t.regex(text, /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} [1-9]\d+$/m);
    t.notRegex(nothing, /^apiserver_storage_(objects|size_bytes)\{/m);
  });

  (hasKubectl() ? test.serial : test.serial.skip)('kubectl creates, applies, watches and deletes on a plane over etcd', async t => {
    const plane = await start('kubectl', '--storage-media-type=application/json');
    using kubectl = new Kubectl(join(directory, 'kubectl', 'kubeconfig'));
    const outputOf = (...args: string[]) => kubectl.okay(args);

    await outputOf('create', 'configmap', 'a', '--from-literal=x=1');
    await outputOf('patch', 'configmap', 'a', '-p', '{"data":{"x":"2"}}');
    t.is(await outputOf('get', 'configmap', 'a', '-o', 'jsonpath={.data.x}'), '2');
    const {kvs} = await client.range({start: '/kubectl/configmaps/default/a'});
    t.like(JSON.parse(kvs[0]!.value.toString()), {kind: 'ConfigMap', data: {x: '2'}});
    await outputOf('delete', 'configmap', 'a');
    t.deepEqual((await client.range({start: '/kubectl/configmaps/default/a'})).kvs, []);
    await plane.stop();
  });
} else test.skip(etcdMissing, () => {});
