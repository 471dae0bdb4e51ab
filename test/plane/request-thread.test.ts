import {getEventListeners, once} from 'node:events';
import {Agent, request as send} from 'node:https';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Worker} from 'node:worker_threads';
import test from 'ava';
import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {recordObject} from '#src/apiserver/registry/record.js';
import {recordEncoding} from '#src/apiserver/registry/record-encoding.js';
import type {ChangeRecord} from '#src/recorder/records.js';
import type {MovedRequest} from '#src/apiserver/request/large.js';
import {naming as namingOf} from '#src/api/naming.js';
import {StatusError, type Status} from '#src/api/status.js';
import {systemClock as clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {apiserverArgs} from '#src/plane/inputs/arguments.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {startPlane} from '#src/plane/index.js';
import {Recorder} from '#src/recorder/recorder.js';
import {RequestThread, type ThreadLimits} from '#src/plane/request-thread/request-thread.js';
import {openEtcdStore} from '#src/storage/etcd/index.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-thread-'));
const files = await planeMaterial(join(directory, 'pki'), clock);
const args = apiserverArgs({naming: 'kubernetes', securePort: 6443}, files);
test.after.always(() => rmSync(directory, {recursive: true, force: true}));
const admin = {name: 'admin', groups: ['system:masters', 'system:authenticated']};

const aRequest = (url: string, method = 'POST', signal = new AbortController().signal): MovedRequest => ({
  method,
  url,
  headers: {},
  remoteAddress: '127.0.0.1',
  signal,
});
const body = (name: string, count = 9000) =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {name, annotations: Object.fromEntries(Array.from({length: count}, (_, i) => [`k-${i}`, 'x']))},
    }),
  );
const start = (limits: Partial<ThreadLimits> = {}, flags: readonly string[] = args, verbosity = 0) => {
  const store = memoryStore({clock});
  const warned: string[] = [];
  const meter = new MetricsRegistry();
  const detailed: string[] = [];
  const details: Log = {
    ...noLog,
    info: (...output: readonly unknown[]) => void detailed.push(String(output.at(-1))),
    v: () => details,
    child: () => details,
  };
  const log: Log = {
    ...noLog,
    warn: (...output: readonly unknown[]) => void warned.push(String(output.at(-1))),
    v: level => (level <= verbosity ? details : noLog),
    child: () => log,
  };
  const recorder = new Recorder({clock, maxBytes: 1 << 20});
  const begin = () => ({args: flags, address: '127.0.0.1:6443', records: true});
  const thread = new RequestThread({store, clock, log, meter, recorder, limits, start: begin});
  return {
    thread,
    store,
    recorder,
    warned,
    meter,
    detailed,
    post: (name: string, count?: number) => thread.answer(aRequest('/api/v1/namespaces'), body(name, count), admin),
  };
};
const codeOf = async (answer: Promise<ApiResponse | undefined>): Promise<unknown> => {
  try {
    return (await answer)?.status;
  } catch (error) {
    return error instanceof StatusError ? error.code : error;
  }
};

test.serial(
  'a thread answers as many requests as there is room for on the store it is lent, those included that come while it starts',
  async t => {
    const {thread, store, recorder, post} = start({waiting: 3});
    const codes = await Promise.all([codeOf(post('a')), codeOf(post('b')), codeOf(post('b')), codeOf(post('c'))]);

    t.deepEqual(codes.toSorted(), [201, 201, 409, 429]);
    t.truthy(store.get('/registry/namespaces/a'));
    const created = (await Promise.all(recorder.log.segments.map(segment => segment.read())))
      .flatMap(segment => Array.from({length: segment.count}, (_, index) => segment.entry(index)))
      .map(entry => recorder.record(entry) as ChangeRecord)
      .map(({object}) => object.name);
    t.deepEqual(created.toSorted(), ['a', 'b']);
    await thread.close();
    t.is(await codeOf(post('d')), undefined, 'a thread that is closed leaves requests to others');
  },
);

(hasEtcd ? test.serial : test.serial.skip)('over etcd the thread puts what it writes into the form of the store by itself', async t => {
  const server = await EtcdServer.start();
  const naming = namingOf('kubernetes');
  const {decode} = await recordEncoding({naming, mediaType: naming.protobufMediaType, cbor: false});
  const encode = (): never => {
    throw new Error('encoded beside all other requests');
  };
  const store = await openEtcdStore({servers: [server.url], prefix: '/registry', encoding: {decode, encode}});
  const flags = [...args, '--storage-backend=etcd3', `--kvstore-servers=${server.url}`];
  const thread = new RequestThread({store, clock, log: noLog, meter: noMeter, start: () => ({args: flags, address: '127.0.0.1:6443'})});
  const long = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {name: 'long'},
    data: Object.fromEntries(Array.from({length: 11_000}, (_, i) => [`${'k'.repeat(240)}${i}`, ''])),
  };

  t.is(await codeOf(thread.answer(aRequest('/api/v1/namespaces'), body('a'), admin)), 201);
  const refused = (await thread.answer(aRequest('/api/v1/namespaces/a/configmaps'), Buffer.from(JSON.stringify(long)), admin))!;
  const {code, message} = JSON.parse((refused.body as {readonly bytes: Buffer}).bytes.toString()) as Status;

  t.is(code, 500);
  t.regex(message ?? '', /^rpc error: code = ResourceExhausted desc = trying to send message larger than max \(\d+ vs\. 2097152\)$/);
  t.is(recordObject<KubeObject>((await store.get('/registry/namespaces/a'))!.value, 1).metadata?.name, 'a');
  await thread.close();
  await store.close();
  await server.stop();
});

test.serial('a thread of a server that publishes storage versions writes without waiting for a publication of its own', async t => {
  const publishing = [
    '--feature-gates=StorageVersionAPI=true,APIServerIdentity=true',
    '--runtime-config=internal.apiserver.k8s.io/v1alpha1=true',
  ];
  const {thread, post} = start({}, [...args, ...publishing]);

  t.is(await codeOf(post('a')), 201);
  await thread.close();
});

test.serial('a request whose caller goes away while it waits makes room for another', async t => {
  const {thread, store, post} = start({waiting: 1});
  const caller = new AbortController();
  const left = codeOf(thread.answer(aRequest('/api/v1/namespaces', 'POST', caller.signal), body('left'), admin));
  caller.abort();
  const next = codeOf(post('a'));

  t.is(await left, 504);
  t.is(await next, 201);
  t.is(store.get('/registry/namespaces/left'), undefined);
  await thread.close();
});

/** A thread with the usual limits, for tests that leave it as it was. */
let usual: ReturnType<typeof start> | undefined;
const aThread = () => (usual ??= start());
test.after.always(() => usual?.thread.close());

test.serial('an answer that cannot be handed over fails alone', async t => {
  const {thread, post} = aThread();
  const watch = codeOf(thread.answer(aRequest('/api/v1/namespaces?watch=true', 'GET'), undefined, admin));

  t.deepEqual(await Promise.all([watch, codeOf(post('handed-over'))]), [500, 201]);
});

test.serial('a thread that fell behind the store is replaced by one that has the writes', async t => {
  const {thread} = start({watchBytes: 1});
  const dev = {name: 'dev', groups: ['system:authenticated']};
  const group = 'rbac.authorization.k8s.io';
  const make = (path: string, object: object, user = admin) =>
    codeOf(thread.answer(aRequest(path), Buffer.from(JSON.stringify(object)), user));
  const role = {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRole',
    metadata: {name: 'maker'},
    rules: [{apiGroups: [''], resources: ['namespaces'], verbs: ['create']}],
  };
  const binding = {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: {name: 'makers'},
    roleRef: {apiGroup: group, kind: 'ClusterRole', name: 'maker'},
    subjects: [{apiGroup: group, kind: 'User', name: 'dev'}],
  };

  t.is(await make(`/apis/${group}/v1/clusterroles`, role), 201);
  t.is(await make(`/apis/${group}/v1/clusterrolebindings`, binding), 201);
  t.is(await make('/api/v1/namespaces', {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a'}}, dev), 201);
  await thread.close();
});

test.serial(
  'nothing is done for requests whose callers go away while the thread works on another, and their signals are let go of',
  async t => {
    const {thread, store, post} = aThread();
    await post('a');
    const leaver = new AbortController();
    const working = post('b', 20_000);
    const left = ['c', 'd'].map(name => thread.answer(aRequest('/api/v1/namespaces', 'POST', leaver.signal), body(name), admin));
    leaver.abort();
    t.is((await working)?.status, 201);
    await Promise.allSettled(left);

    t.deepEqual(
      ['a', 'b', 'c', 'd'].map(name => Boolean(store.get(`/registry/namespaces/${name}`))),
      [true, true, false, false],
    );
    const stays = new AbortController();
    t.is((await thread.answer(aRequest('/api/v1/namespaces', 'POST', stays.signal), body('e'), admin))?.status, 201);
    t.is(getEventListeners(stays.signal, 'abort').length, 0);
  },
);

test.serial('a request that takes too long ends the thread', async t => {
  const {thread, post} = start({ms: 1});
  t.is(await codeOf(post('a')), 504);
  await thread.close();
});

test.serial('a request that takes too much memory is refused, and the next one gets another thread', async t => {
  const {thread, post} = start({megabytes: 48});
  t.is(await codeOf(post('a', 220_000)), 413);
  t.is(await codeOf(post('b')), 201);
  await thread.close();
});

test.serial('requests in a thread with one that exhausts its memory are asked to retry, and waiting ones get another thread', async t => {
  const {thread, post} = start({megabytes: 48, concurrency: 2, waiting: 5});
  const causes: unknown[] = [];
  const answers = ['a', 'b', 'c', 'd'].map(async name => {
    try {
      return (await post(name, name === 'a' ? 220_000 : undefined))?.status;
    } catch (error) {
      causes.push((error as StatusError).status.details?.retryAfterSeconds);
      return (error as StatusError).code;
    }
  });
  const [large, ...others] = await Promise.all(answers);

  t.true(large === 503 || large === 413, `${large}`);
  t.true(
    others.every(code => code === 201 || code === 503),
    `${others}`,
  );
  t.is(others.at(-1), 201);
  t.deepEqual(
    causes,
    causes.map(() => (large === 413 ? undefined : 1)),
  );
  await thread.close();
});

test.serial('a thread that exits by itself is noticed at once', async t => {
  const {thread, post} = start();
  const created = once(process, 'worker') as Promise<[Worker]>;
  await post('a');
  const [worker] = await created;
  const answer = codeOf(post('b', 20_000));
  await worker.terminate();

  t.is(await answer, 503);
  t.is(await codeOf(post('c')), 201);
  await thread.close();
});

test.serial('metrics and logs of the thread appear in its parent', async t => {
  const {thread, meter, detailed, post} = start({}, args, 5);
  t.is(await codeOf(post('a')), 201);

  t.is(meter.value('etcd_requests_total', {operation: 'create', group: '', resource: 'namespaces'}), 1);
  t.is(meter.value('apiserver_request_total'), undefined, 'requests are counted where they come in');
  t.true(detailed.length > 0);
  await thread.close();
  const quiet = aThread();
  await quiet.post('quiet');
  t.deepEqual(quiet.detailed, []);
  await quiet.thread.close();
  usual = undefined;
});

test.serial('where a thread cannot start, requests are left to others', async t => {
  const {thread, warned, post} = start({}, [...args, '--no-such-flag']);
  t.is(await codeOf(post('a')), undefined);
  t.is(await codeOf(post('a')), undefined);
  t.is(warned.length, 1);
  await thread.close();
});

test.serial('where not even the flags of a thread can be had, requests are left to others', async t => {
  const thread = new RequestThread({
    store: memoryStore({clock}),
    clock,
    log: noLog,
    meter: noMeter,
    start: () => {
      throw new Error('no port yet');
    },
  });
  t.is(await codeOf(thread.answer(aRequest('/api/v1/namespaces'), body('a'), admin)), undefined);
  await thread.close();
});

test.serial('a thread that needs more memory for its start than it may have is not started again and again', async t => {
  const {thread, warned, post} = start({megabytes: 16});
  t.is(await codeOf(post('a')), undefined);
  t.is(warned.length, 1);
  await thread.close();
});

test.serial('a plane answers a large request over HTTPS as it answers a small one', async t => {
  await using plane = await startPlane({dataDir: join(directory, 'plane'), controllerManagerArgs: ['--controllers=-*']});
  const pki = (name: string) => readFileSync(join(directory, 'plane', 'pki', name));
  const agent = new Agent({ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key'), keepAlive: false});
  const get = (path: string) =>
    new Promise<string>((resolve, reject) => {
      send(`${plane.url}${path}`, {agent}, response => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (part: string) => (text += part))
          .on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
  const post = (sent: object) =>
    new Promise<{status: number; body: Record<string, unknown>; warnings: string | string[] | undefined}>((resolve, reject) => {
      const call = send(
        `${plane.url}/api/v1/namespaces/default/configmaps`,
        {method: 'POST', agent, headers: {'content-type': 'application/json'}},
        response => {
          let text = '';
          response
            .setEncoding('utf8')
            .on('data', (part: string) => (text += part))
            .on('end', () =>
              resolve({
                status: response.statusCode!,
                body: JSON.parse(text) as Record<string, unknown>,
                warnings: response.headers['warning'],
              }),
            );
        },
      );
      call.on('error', reject).end(JSON.stringify(sent));
    });
  const data = Object.fromEntries(Array.from({length: 9000}, (_, i) => [`k-${i}`, 'x']));
  const made = await post({metadata: {name: 'a'}, data, nothing: 1});
  const again = await post({metadata: {name: 'a'}, data});
  const small = await post({metadata: {name: 'b'}, data: {k: 'x'}, nothing: 1});

  t.is(made.status, 201, JSON.stringify(made.body).slice(0, 300));
  t.deepEqual(made.warnings, small.warnings);
  t.deepEqual(made.body['data'], data);
  t.deepEqual([again.status, again.body['reason']], [409, 'AlreadyExists']);

  const lines = (await get('/metrics')).split('\n');
  const sent = [
    {metadata: {name: 'a'}, data, nothing: 1},
    {metadata: {name: 'a'}, data},
    {metadata: {name: 'b'}, data: {k: 'x'}, nothing: 1},
  ];
  const bytes = sent.reduce((sum, body) => sum + Buffer.byteLength(JSON.stringify(body)), 0);
  const created = '{group="",resource="configmaps",verb="create"}';
  t.true(lines.includes(`apiserver_request_body_size_bytes_count${created} 3`));
  t.true(lines.includes(`apiserver_request_body_size_bytes_sum${created} ${bytes}`));
  t.true(lines.includes('apiserver_request_body_size_bytes_bucket{le="50000",group="",resource="configmaps",verb="create"} 1'));
  const lifetimes = (bound: string) =>
    lines.find(line => line.startsWith(`apiserver_client_certificate_expiration_seconds_${bound}`))?.split(' ')[1];
  t.deepEqual(['bucket{le="2.592e+06"}', 'count'].map(lifetimes), ['0', '4']);
});
