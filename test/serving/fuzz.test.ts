import test from 'ava';
import {once} from 'node:events';
import tls from 'node:tls';
import {type Random, seededRandom} from '#src/base/random.js';
import type {ApiRequest} from '#src/api/request.js';
import {StatusError} from '#src/api/status.js';
import {type TestServer, aWatch, answering, ask1, ask2, json, serve} from './server.js';

/** Looks at everything a request has, as a careless handler would. */
const curious = (watch: ReturnType<typeof aWatch>) =>
  answering(async (request: ApiRequest) => {
    try {
      void request.signal.aborted;
      const body = request.body?.kind === 'bytes' ? await request.body.read(10_000) : undefined;
      if (request.url.includes('watch')) return watch.response;
      return json({url: request.url, headers: request.headers, body: body?.toString()}, 200, {
        'X-Echo': request.url,
        Warning: [request.url, String(request.headers['x-a'])],
      });
    } catch (error) {
      return json({}, error instanceof StatusError ? error.code : 500);
    }
  });

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.float() * items.length)]!;

const noise = (random: Random, most: number): string => Buffer.from(random.bytes(Math.floor(random.float() * most))).toString('latin1');

const paths = [
  '/',
  '/%',
  '/%zz%00',
  '/a?watch=1',
  '*',
  'http://x/y',
  '//',
  '/é\xff\xfe',
  '/?%ff=%',
  `/${'a'.repeat(9000)}`,
  '',
  'x',
  '/../..',
  'https://',
  '/watch',
];
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE', 'BREW', 'get', ''];
const headerLines = [
  'Host: x',
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Upgrade: websocket',
  'Connection: upgrade',
  'Connection: close',
  'Accept-Encoding: gzip;q=, ;;,',
  'X-A: \x00',
  'X-A: é\xff',
  'Authorization: ',
  ': empty',
  'Nocolon',
  'X-A: one',
  'X-A: two',
  'Origin: \xff',
  `X-Big: ${'b'.repeat(20_000)}`,
  `Impersonate-Group: a`,
];

const aRawRequest = (random: Random): string => {
  if (random.float() < 0.1) return noise(random, 500);
  const lines = Array.from({length: Math.floor(random.float() * 8)}, () => pick(random, headerLines));
  const body = pick(random, ['', 'hello', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', noise(random, 200)]);
  const end = pick(random, ['\r\n', '\n', '\r']);
  return `${pick(random, methods)} ${pick(random, paths)} HTTP/${pick(random, ['1.1', '1.0', '9.9', '2'])}${end}Host: x${end}${lines.join(end)}${end}${end}${body}`;
};

/** The preface of HTTP/2, and frames that mean something, little, or nothing. */
const aRawSession = (random: Random): string => {
  const frame = (type: number, flags: number, stream: number, payload: string) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return head.toString('latin1') + payload;
  };
  const get = '\x82\x84\x87\x41\x01x';
  const frames = Array.from({length: Math.floor(random.float() * 12)}, () =>
    frame(
      Math.floor(random.float() * 12),
      Math.floor(random.float() * 256),
      pick(random, [0, 1, 3, 2, 5, 2 ** 31 - 1]),
      pick(random, [get, '', noise(random, 60), '\0\0\0\x08']),
    ),
  );
  return `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${frame(4, 0, 0, '')}${frame(1, 5, 1, get)}${frames.join('')}${random.float() < 0.5 ? noise(random, 50) : ''}`;
};

/** Sends it, waits for whatever comes, and leaves: rudely, half of the time. */
const assail = async (server: TestServer, alpn: string, bytes: string, random: Random): Promise<void> => {
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: [alpn]});
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'secureConnect');
  socket.write(Buffer.from(bytes, 'latin1'));
  if (random.float() < 0.5)
    await Promise.race([once(socket, 'data'), once(socket, 'close'), new Promise(resolve => setTimeout(resolve, 20))]);
  if (random.float() < 0.3) socket.end();
  socket.destroy();
};

for (const [alpn, make] of [
  ['http/1.1', aRawRequest],
  ['h2', aRawSession],
] as const) {
  test(`${alpn}: nothing a client sends stops the server`, async t => {
    const random = seededRandom(20_260_101);
    const watch = aWatch();
    await using server = await serve(curious(watch), {http: {corsOrigins: [/x/], hsts: ['a'], goawayChance: 0.02}});

    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({length: 8}, () => assail(server, alpn, make(random), random)));
      for (const sink of watch.sinks.splice(0)) sink.end();
    }

    t.is((await ask1(server, {path: '/still'})).status, 200);
    t.is((await ask2(server, {path: '/still'})).status, 200);
    t.deepEqual(server.faults, []);
  });
}
