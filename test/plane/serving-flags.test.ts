import {mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync, readdirSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {systemClock} from '#src/base/clock.js';
import {logRoutes} from '#src/apiserver/handlers/logs.js';
import {startPlane} from '#src/plane/plane.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {systemNetwork} from '#src/transport/network.js';
import {throttled} from '#src/transport/relay/throttle.js';
import {admin, startWire, wire} from '#test/apiserver/wire.js';
import {sweepServer} from '#test/sweep/server.js';
import {aBackend} from '#test/transport/backend.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-logs-'));
mkdirSync(join(folder, 'pods'));
mkdirSync(join(folder, 'real'));
writeFileSync(join(folder, 'pods', 'a&b.log'), '0123456789');
writeFileSync(join(folder, 'real', 'empty'), '');
writeFileSync(join(folder, 'page'), '<html><script>alert(1)</script>');
writeFileSync(join(folder, 'old.gz'), Buffer.from([0x1f, 0x8b, 8, 0]));
symlinkSync('real', join(folder, 'inside'));
symlinkSync('/etc', join(folder, 'outside'));
symlinkSync('/etc/hostname', join(folder, 'host'));
utimesSync(join(folder, 'page'), 1_700_000_000, 1_700_000_000);
const modified = 'Tue, 14 Nov 2023 22:13:20 GMT';

const logs = await startWire({routes: logRoutes(folder)});
test.after.always(() => rmSync(folder, {recursive: true}));

/** Returns status, headers and body of a log file. */
const read = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
  const {status, body, ...response} = await logs.server.handler({
    method,
    url: path,
    headers,
    caller: {user: admin},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  const text = body.kind === 'stream' ? (await buffer(body.source)).toString('latin1') : body.kind === 'bytes' ? String(body.bytes) : '';
  return {status, text, type: body.kind === 'bytes' ? body.contentType : response.headers['Content-Type'], headers: response.headers};
};

test('a folder of logs is a page of links, and a link to a folder is relative', async t => {
  const {status, text, type} = await read('/logs/');
  const moved = await read('/logs/pods');

  t.deepEqual([status, type], [200, 'text/html; charset=utf-8']);
  t.true(text.startsWith('<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n<a href="host">host</a>\n'));
  t.true((await read('/logs/pods/')).text.includes('<a href="a%26b.log">a&amp;b.log</a>\n'));
  t.deepEqual([moved.status, moved.headers['Location']], [301, 'pods/']);
});

test('a log file is read whole, by range, or not at all when it has not changed', async t => {
  const whole = await read('/logs/pods/a%26b.log');
  const part = await read('/logs/pods/a%26b.log', {range: 'bytes=2-4'});
  const end = await read('/logs/pods/a%26b.log', {range: 'bytes=-3'});
  const beyond = await read('/logs/pods/a%26b.log', {range: 'bytes=10-'});
  const page = await read('/logs/page');

  t.deepEqual(
    [whole.status, whole.text, whole.type, whole.headers['Content-Length']],
    [200, '0123456789', 'text/plain; charset=utf-8', '10'],
  );
  t.deepEqual([part.status, part.text, part.headers['Content-Range']], [206, '234', 'bytes 2-4/10']);
  t.deepEqual([end.status, end.text], [206, '789']);
  t.deepEqual([beyond.status, beyond.text, beyond.headers['Content-Range']], [416, 'invalid range: failed to overlap\n', 'bytes */10']);
  t.deepEqual(
    [page.type, page.headers['Last-Modified'], page.headers['X-Content-Type-Options']],
    ['text/plain; charset=utf-8', modified, 'nosniff'],
  );
  t.is((await read('/logs/page', {'if-modified-since': modified})).status, 304);
  t.is((await read('/logs/old.gz')).type, 'application/x-gzip');
  t.deepEqual((await read('/logs/inside/empty')).text, '');
});

for (const [what, path, status] of [
  ['a link out of the folder', '/logs/host', 403],
  ['a folder behind a link out of the folder', '/logs/outside/hostname', 403],
  ['a path that leaves the folder', '/logs/%2e%2e/etc/hostname', 400],
  ['a path that leaves the folder with an escaped slash', '/logs/..%2f..%2fetc/hostname', 400],
  ['a file that does not exist', '/logs/none', 404],
  ['a file as a folder', '/logs/page/x', 404],
  ['a name that is too long', `/logs/${'n'.repeat(256)}`, 404],
] as const)
  test(`the logs do not serve ${what}`, async t => {
    t.is((await read(path)).status, status);
  });

test('logs are only read', async t => {
  t.is((await read('/logs/page', {}, 'DELETE')).status, 405);
});

test('--enable-logs-handler serves /var/log to authorized users', async t => {
  const listing = async (...apiserverArgs: string[]) => {
    await using plane = await startPlane({
      listen: false,
      clock: new VirtualClock(),
      apiserverArgs,
      controllerManagerArgs: ['--controllers='],
    });
    const {get} = wire(plane.api.handler);
    return [await get('/logs/'), await get('/logs/', {user: {name: 'system:anonymous', groups: ['system:unauthenticated']}})] as const;
  };
  const [served, refused] = await listing('--enable-logs-handler');

  t.is(served.status, 200);
  for (const name of readdirSync('/var/log').filter(name => /^[\w.]+$/.test(name))) t.true(served.text.includes(`>${name}`), name);
  t.is(refused.status, 403);
  t.is((await listing())[0].status, 404);
});

const received = (t: ExecutionContext, socket: NodeJS.ReadableStream) => {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
  t.teardown(() => void (socket as unknown as {destroy(): void}).destroy());
  return () => bytes;
};

test('a throttled connection passes a tenth of its rate at a time in each direction, and then ends', async t => {
  const clock = new VirtualClock();
  const [near, far] = duplexPair();
  const slow = throttled(near, 1000, clock);
  const [sent, back] = [received(t, far), received(t, slow)];
  slow.end(Buffer.alloc(450));
  far.write(Buffer.alloc(250));
  const seen: number[][] = [];
  for (const ms of [0, 100, 200, 100]) {
    await clock.advance(ms);
    seen.push([sent(), back()]);
  }

  t.deepEqual(seen, [
    [100, 100],
    [200, 200],
    [400, 250],
    [450, 250],
  ]);
  t.true(far.readableEnded);
  far.end();
  await clock.advance(1);
  t.true(slow.readableEnded);
});

test('--max-connection-bytes-per-sec limits the rate of upgraded connections to pods', async t => {
  await using backend = await aBackend((_, response) => response.end(), {
    upgrade: (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.pipe(socket);
    },
  });
  const system = systemNetwork(systemClock);
  await using server = await sweepServer({
    thread: false,
    flags: ['--max-connection-bytes-per-sec=20000', '--disable-admission-plugins=ServiceAccount'],
    network: {dial: (_, port) => system.dial('127.0.0.1', port), resolve: host => Promise.resolve([host])},
  });
  const pods = '/api/v1/namespaces/shops/pods';
  await server.post('/api/v1/namespaces', {metadata: {name: 'shops'}});
  await server.post(pods, {metadata: {name: 'p'}, spec: {nodeName: 'n', containers: [{name: 'c', image: 'x'}]}});
  await server.put(`${pods}/p/status`, {metadata: {name: 'p'}, status: {podIP: '10.1.1.1', podIPs: [{ip: '10.1.1.1'}]}});
  const {status, body} = await server.handler({
    method: 'GET',
    url: `${pods}/p:${backend.port}/proxy/echo`,
    headers: {connection: 'Upgrade', upgrade: 'echo'},
    caller: {user: admin},
    remoteAddress: '',
    upgradable: true,
    signal: new AbortController().signal,
  });
  t.is(status, 101, body.kind === 'object' ? JSON.stringify(body.object()) : body.kind);
  if (body.kind !== 'upgrade') return t.fail(body.kind);
  const [client, socket] = duplexPair();
  t.teardown(() => client.destroy());
  await body.take(socket, Buffer.alloc(0));
  const begin = performance.now();
  client.write(Buffer.alloc(4000, 'x'));
  let bytes = 0;
  for await (const chunk of client.iterator({destroyOnReturn: false})) {
    bytes += (chunk as Buffer).toString().replaceAll(/[^x]/g, '').length;
    if (bytes >= 4000) break;
  }

  t.true(performance.now() - begin >= 90, `${performance.now() - begin} ms`);
});
