import test from 'ava';
import {spawn} from 'node:child_process';
import {EventEmitter, once} from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import type {AddressInfo} from 'node:net';
import {PassThrough} from 'node:stream';
import tls from 'node:tls';
import {Worker} from 'node:worker_threads';
import {WebSocket} from 'ws';
import type {ApiRequest} from '#src/api/request.js';
import {systemClock, withErrorHandler} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {confineErrors, confinedTo} from '#src/base/emitters/confined.js';
import {seededRandom} from '#src/base/random.js';
import {upgradeToWebSocket} from '#src/serving/agent/upgrade.js';
import {createHttpServer} from '#src/serving/http-server.js';
import type {RequestHandler} from '#src/serving/listener.js';
import {beginRequest} from '#src/transport/begin-request.js';
import {openSession, Sessions} from '#src/transport/http2/sessions.js';
import {sources} from '#test/sources.js';
import {answering, ask1, ask2, json, serve, type TestServer} from '#test/serving/server.js';

const bang = () => {
  throw new Error('bang');
};

test('an error of a listener ends its stream with the error, and is reported once', async t => {
  const reports: unknown[] = [];
  const stream = confineErrors(new PassThrough(), error => reports.push((error as Error).message));
  stream.on('data', bang);
  const closed = once(stream, 'close');
  stream.write('x');
  await closed.catch(() => undefined);

  t.deepEqual([stream.destroyed, stream.errored?.message, reports], [true, 'bang', ['bang']]);
});

test('an error that is emitted to nobody is reported, and one of a callback ends its stream', async t => {
  const reports: unknown[] = [];
  const report = (error: unknown) => reports.push((error as Error).message);
  confineErrors(new EventEmitter(), report).emit('error', new Error('to nobody'));
  const stream = confineErrors(new PassThrough(), report);
  stream.write('x', confinedTo(stream, bang));
  await once(stream, 'close').catch(() => undefined);

  t.deepEqual([reports, stream.destroyed], [['to nobody', 'bang'], true]);
});

test('an error of a listener of a server ends what the event hands over', t => {
  const server = confineErrors(http.createServer());
  server.on('connection', bang);
  const connection = new PassThrough().on('error', () => {});
  server.emit('connection', connection);

  t.true(connection.destroyed);
});

test('an error of a listener of a child process or a thread ends it', async t => {
  const child = confineErrors(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {stdio: 'ignore'}));
  child.on('spawn', bang);
  t.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);

  const worker = confineErrors(
    new Worker('require("worker_threads").parentPort.postMessage(1); setInterval(() => {}, 1000)', {eval: true}),
  );
  worker.on('message', bang);
  t.deepEqual(await once(worker, 'exit'), [1]);
});

/** How a handler of a test listens on what it is given, by path. */
const traps: Readonly<Record<string, Pick<RequestHandler, 'http1' | 'http2'>>> = {
  handler: {http1: bang, http2: bang},
  message: {http1: request => void request.once('close', bang), http2: stream => void stream.once('aborted', bang)},
  answer: {
    http1: (_, response) => (response.once('finish', bang), void response.end('x')),
    http2: stream => (stream.once('finish', bang), stream.respond(), void stream.end('x')),
  },
  body: {http1: request => void request.on('data', bang), http2: stream => void stream.on('data', bang)},
  connection: {http1: ({socket}) => void socket.once('close', bang), http2: ({session}) => void session!.once('close', bang)},
};

/** A server with traps, the errors that it reports, and a promise of the first request in one. */
const trappedServer = async () => {
  const faults: unknown[] = [];
  const urls: string[] = [];
  const plain = createHttpServer(
    answering(() => json({})),
    {clock: systemClock, random: seededRandom(1)},
  );
  const trapOf = (url = ''): Pick<RequestHandler, 'http1' | 'http2'> => {
    const trap = traps[url.slice(1)];
    if (trap) urls.push(url);
    return trap ?? plain;
  };
  const handler: RequestHandler = {
    http1: (request, response) => trapOf(request.url).http1(request, response),
    http2: (stream, headers, flags, raw) => trapOf(headers[':path']).http2(stream, headers, flags, raw),
    upgrade: () => {},
    fault: error => void faults.push((error as Error).message),
  };
  const server = await serve(
    answering(() => json({})),
    {listener: {handler}},
  );
  const trapped = async () => {
    while (urls.length === 0) await new Promise(setImmediate);
  };
  return {server, faults, trapped, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]()};
};

const isAlive = async (server: TestServer): Promise<boolean> => (await ask1(server)).status === 200 && (await ask2(server)).status === 200;

for (const trap of Object.keys(traps)) {
  test(`HTTP/1.1: an error of a listener ends that connection alone: ${trap}`, async t => {
    await using given = await trappedServer();
    const {server, faults, trapped} = given;
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca}).on('error', () => {});
    socket.write(`POST /${trap} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe`);
    socket.resume();
    await trapped();
    if (trap === 'message' || trap === 'connection') socket.destroy();

    t.true(await isAlive(server));
    while (faults.length === 0) await new Promise(setImmediate);
    t.deepEqual(faults, ['bang']);
    socket.destroy();
  });

  test(`HTTP/2: an error of a listener ends that stream alone: ${trap}`, async t => {
    await using given = await trappedServer();
    const {server, faults, trapped} = given;
    const session = http2.connect(server.url, {ca: server.ca}).on('error', () => {});
    const stream = session.request({':path': `/${trap}`, ':method': 'POST'}).on('error', () => {});
    stream.write('he');
    stream.resume();
    await trapped();
    if (trap === 'message') stream.close(http2.constants.NGHTTP2_CANCEL);
    if (trap === 'connection') session.destroy();
    while (faults.length === 0) await new Promise(setImmediate);

    t.true(await isAlive(server));
    t.deepEqual([faults, session.destroyed], [['bang'], trap === 'connection']);
    session.destroy();
  });
}

test('an error about a message ends that WebSocket alone', async t => {
  const handler = (request: ApiRequest) =>
    request.upgradable ? upgradeToWebSocket(request, '', {clock: systemClock, idleMs: 0}, client => client.onMessage(bang)) : json({});
  await using server = await serve(answering(handler));
  const client = new WebSocket(server.url.replace('https', 'wss'), {ca: server.ca}).on('error', () => {});
  await once(client, 'open');
  client.send('x');
  await once(client, 'close');

  t.true(await isAlive(server));
});

test('an error about a response ends that request', async t => {
  const server = http.createServer((_, response) => response.end('x')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  const sent = beginRequest({host: '127.0.0.1', port, agent: false});
  sent.on('response', bang).end();
  const [early] = (await once(sent, 'error')) as [Error];
  const other = beginRequest({host: '127.0.0.1', port, agent: false});
  other.on('response', answer => answer.on('data', bang));
  other.end();
  const [late] = (await once(other, 'error')) as [Error];

  t.is(late.message, 'bang');
  t.is(early.message, 'bang');
  server.close();
});

test('an error about a stream to another server ends that stream', async t => {
  await using server = await serve(answering(() => json({})));
  const connect = async () => {
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['h2']});
    await once(socket, 'secureConnect');
    return socket;
  };
  const windows = {session: 1 << 20, stream: 1 << 20};
  const open = () => openSession({clock: systemClock, origin: server.url, timeoutMs: 10_000, windows, connect});
  const sessions = new Sessions({clock: systemClock, open});
  const stream = await sessions.stream(session => session.request({':path': '/'}).on('response', bang));
  const [error] = (await once(stream, 'error')) as [Error];

  t.is(error.message, 'bang');
  t.true(await isAlive(server));
  sessions.drop();
});

test('an error of a timer is reported, and the clock goes on', async t => {
  const errors: unknown[] = [];
  const virtual = new VirtualClock();
  const clock = withErrorHandler(virtual, error => errors.push((error as Error).message));
  let later = 0;
  clock.schedule(1, bang);
  clock.schedule(5, () => void later++);
  await virtual.advance(10);

  t.deepEqual([errors, later], [['bang'], 1]);
});

/** Modules whose emitters are connections, servers, processes and threads, and what makes them. */
const makers: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['createServer', 'request', 'get'],
  'node:https': ['createServer', 'request', 'get'],
  'node:http2': ['createServer', 'createSecureServer', 'connect'],
  'node:net': ['createServer', 'connect', 'createConnection'],
  'node:tls': ['createServer', 'connect'],
  'node:child_process': ['spawn', 'fork'],
  'node:worker_threads': ['Worker'],
};

/** The calls in a file that make an emitter that is not confined. */
const unconfined = ({path, code}: (typeof sourceFiles)[number]): string[] =>
  Object.entries(makers).flatMap(([module, names]) => {
    const [, given = ''] = new RegExp(`^import (?!type )([^;]*?) from '${module}'`, 'm').exec(code) ?? [];
    const byDefault = /^(\w+)/.exec(given)?.[1];
    const calls = names.flatMap(name => {
      const [, alias] =
        new RegExp(`[{,] ?${name}(?: as (\\w+))?[,}]`).exec(given.replaceAll(/\s+/g, ' ').replaceAll('{ ', '{').replaceAll(' }', '}')) ??
        [];
      const isNamed = new RegExp(`\\b${name}\\b`).test(given);
      return [...(isNamed ? [alias ?? name] : []), ...(byDefault ? [`${byDefault}\\.${name}`] : [])];
    });
    return calls.flatMap(call =>
      [...code.matchAll(new RegExp(`(?<![\\w.])(?:new )?${call}\\(`, 'g'))]
        .filter(({index}) => !/(?:confineErrors|confineServer)\(\s*$/.test(code.slice(0, index)))
        .map(([found]) => `${path}: ${found}`),
    );
  });

const sourceFiles = sources('src', 'controllers', 'informers');

test('errors in the events of connections, servers, processes and threads are confined to them', t => {
  const ofTestTools = [
    'src/cli/envtest/envtest.ts: spawn(',
    'src/cli/envtest/store-address.ts: get(',
    'src/cli/envtest/store.ts: createServer(',
  ];

  t.deepEqual(sourceFiles.flatMap(unconfined), ofTestTools);
});
