import {once} from 'node:events';
import tls from 'node:tls';
import test from 'ava';
import {answering, ask1, json, serve, type TestServer} from '#test/serving/server.js';
import {LoopWatch} from '#test/sweep/holds.js';

const types = {data: 0, headers: 1, priority: 2, settings: 4, ping: 6, windowUpdate: 8, continuation: 9} as const;

const frame = (type: keyof typeof types, stream: number, payload: Buffer | string = '', flags = 0): Buffer => {
  const body = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = types[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
};

const [endStream, endHeaders] = [1, 4];
/** `GET https://x/` in HPACK (RFC 7541): two indexed fields and a literal one. */
const aGet = '\x82\x84\x87\x41\x01x';
/** A literal field of 4,000 bytes that enters the dynamic table, and the reference to it. */
const [entry, reference] = [`\x40\x01a\x7f\xa1\x1e${'v'.repeat(4000)}`, '\xbe'];

const times = (count: number, part: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({length: count}, (_, index) => part(index)));

/** What floods a session, sent as often as the server takes it, up to 16 MiB. */
const floods: readonly (readonly [what: string, first: Buffer, again: Buffer])[] = [
  [
    'CONTINUATION frames without an end',
    frame('headers', 1, aGet, endStream),
    times(200, () => frame('continuation', 1, `\x00\x01a\x01b`)),
  ],
  ['empty CONTINUATION frames', frame('headers', 1, aGet, endStream), times(2000, () => frame('continuation', 1))],
  [
    'a header block that refers to a long field many times',
    frame('headers', 1, aGet + entry, endStream),
    frame('continuation', 1, reference.repeat(16_000)),
  ],
  ['pings', Buffer.alloc(0), times(2000, () => frame('ping', 0, '12345678'))],
  ['settings', Buffer.alloc(0), times(2000, () => frame('settings', 0))],
  ['priorities', Buffer.alloc(0), times(2000, index => frame('priority', 2 * index + 1, '\0\0\0\0\x10'))],
  ['empty data of one request', frame('headers', 1, `\x83${aGet.slice(1)}`, endHeaders), times(2000, () => frame('data', 1))],
  ['window updates', frame('headers', 1, `\x83${aGet.slice(1)}`, endHeaders), times(2000, () => frame('windowUpdate', 1, '\0\0\0\x01'))],
];

const flood = async (server: TestServer, first: Buffer, again: Buffer): Promise<void> => {
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['h2']});
  socket.on('error', () => {});
  let received = 0;
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  await once(socket, 'secureConnect');
  const closed = new Promise<void>(resolve => {
    socket.once('close', () => resolve());
  });
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', 0), first]));
  for (let sent = 0; sent < 16 << 20 && !socket.destroyed; sent += again.length) {
    if (socket.write(again)) await new Promise(setImmediate);
    else await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
  }
  socket.destroy();
  await closed;
};

for (const [what, first, again] of floods) {
  test.serial(`a session flooded with ${what} neither delays others nor keeps memory`, async t => {
    await using server = await serve(answering(async request => ((await request.body?.kind) === 'bytes', json({}))));
    await ask1(server);
    const before = process.memoryUsage.rss();
    const watch = new LoopWatch();
    watch.start();

    const flooding = flood(server, first, again);
    const over = flooding.then(() => true);
    do t.is((await ask1(server)).status, 200);
    while (!(await Promise.race([over, Promise.resolve(false)])));

    const {ms} = watch.stop();
    t.true(ms < 100, `the event loop was held for ${ms} ms`);
    t.true(process.memoryUsage.rss() - before < 128 << 20, `${(process.memoryUsage.rss() - before) >> 20} MiB more`);
    t.deepEqual(server.faults, []);
  });
}
