import test from 'ava';
import {once} from 'node:events';
import {createServer as createHttp, type IncomingMessage} from 'node:http';
import {connect as connectTcp, createServer, type AddressInfo, type Socket} from 'node:net';
import {systemClock} from '#src/base/clock.js';
import {connect} from '#src/transport/client/http-connection.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {type TestServer, answering, json, serve} from '#test/serving/server.js';

const settingsFor = (server: TestServer, proxyUrl: string): ConnectionSettings => ({
  server: server.url,
  trust: {ca: {data: server.ca}},
  identity: {},
  proxyUrl,
  source: 'test',
});

const get = {method: 'GET', path: '/', headers: {}};

/** A proxy for CONNECT, which refuses callers without its password. */
const aProxy = async () => {
  const tunnels: string[] = [];
  const sockets = new Set<Socket>();
  const proxy = createHttp();
  proxy.on('connection', (socket: Socket) => sockets.add(socket));
  proxy.on('connect', ({url = '', headers}: IncomingMessage, inner: Socket) => {
    if (headers['proxy-authorization'] !== `Basic ${Buffer.from('me:secret').toString('base64')}`)
      return inner.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    tunnels.push(url);
    const outer = connectTcp(Number(url.split(':')[1]), '127.0.0.1');
    sockets.add(outer);
    inner.on('error', () => {}).write('HTTP/1.1 200 Connection established\r\n\r\n');
    inner.pipe(outer.on('error', () => {})).pipe(inner);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  return {host, tunnels, [Symbol.dispose]: stop};
};

test('calls and streams go through the proxy of the settings', async t => {
  await using server = await serve(answering(() => json({})));
  using proxy = await aProxy();
  await using connection = await connect(settingsFor(server, `http://me:secret@${proxy.host}`), {clock: systemClock});

  t.is((await connection.send(get)).status, 200);
  t.true(await connection.isProbed());

  t.deepEqual(proxy.tunnels, [`127.0.0.1:${server.port}`]);
});

test('a proxy that refuses, cannot be reached or is of another kind is reported in one line', async t => {
  await using server = await serve(answering(() => json({})));
  using proxy = await aProxy();
  const failing = async (proxyUrl: string) => {
    await using connection = await connect(settingsFor(server, proxyUrl), {clock: systemClock});
    return await connection.send(get);
  };

  await t.throwsAsync(failing(`http://${proxy.host}`), {
    message: `GET ${server.url}/: proxyconnect tcp: Proxy Authentication Required`,
  });
  await t.throwsAsync(failing('http://127.0.0.1:1'), {
    message: `GET ${server.url}/: proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused`,
  });
  await t.throwsAsync(failing('ftp://proxy'), {
    message: 'test: invalid proxy-url "ftp://proxy": unsupported scheme "ftp", must be http, https, or socks5',
  });
});

test('calls go through a SOCKS proxy', async t => {
  await using server = await serve(answering(() => json({})));
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const proxy = createServer(inner => {
    sockets.push(inner.on('error', () => {}));
    inner.once('data', () => {
      inner.write(Buffer.of(5, 0));
      inner.once('data', (ask: Buffer) => {
        asked.push(ask.toString('hex'));
        const outer = connectTcp(server.port, '127.0.0.1').on('error', () => {});
        sockets.push(outer);
        inner.write(Buffer.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 1));
        inner.pipe(outer).pipe(inner);
      });
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  await using connection = await connect(settingsFor(server, `socks5://127.0.0.1:${(proxy.address() as AddressInfo).port}`), {
    clock: systemClock,
  });

  t.is((await connection.send(get)).status, 200);

  const port = Buffer.alloc(2);
  port.writeUInt16BE(server.port);
  t.deepEqual(asked, [`050100017f000001${port.toString('hex')}`]);
  for (const socket of sockets) socket.destroy();
  proxy.close();
});
