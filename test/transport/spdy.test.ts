import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {connect, createServer, type AddressInfo, type Socket} from 'node:net';
import {deflateSync, constants, createDeflate} from 'node:zlib';
import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {headerDictionary} from '#src/transport/spdy/dictionary.js';
import {frameWriter, type Frame} from '#src/transport/spdy/frames.js';
import {headerPacker, HeaderUnpacker} from '#src/transport/spdy/header-block.js';
import {SpdySession, type SessionSettings} from '#src/transport/spdy/session.js';
import {heldBytes, type SpdyStream} from '#src/transport/spdy/stream.js';

/** Both ends of a connection. */
const aPair = async (): Promise<[Socket, Socket]> => {
  const server = createServer();
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const one = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [other] = await accepted;
  server.close();
  return [one, other];
};

interface Environment {
  readonly client: SpdySession;
  readonly server: SpdySession;
  readonly sockets: readonly [Socket, Socket];
  /** The streams the server was opened, in order. */
  readonly opened: SpdyStream[];
}

const anEnvironment = async (
  onStream: (stream: SpdyStream) => void = () => {},
  settings: Partial<SessionSettings> = {},
): Promise<Environment> => {
  const [one, other] = await aPair();
  const opened: SpdyStream[] = [];
  const server = new SpdySession(other, {side: 'server', ...settings, onStream: stream => (opened.push(stream), onStream(stream))});
  return {client: new SpdySession(one, {side: 'client'}), server, sockets: [one, other], opened};
};

const textOf = async (stream: SpdyStream): Promise<string> => Buffer.concat(await stream.toArray()).toString();
const closed = (stream: SpdyStream) => new Promise<void>(resolve => void stream.once('close', resolve));
const echo = (stream: SpdyStream) => void stream.pipe(stream);

test('the dictionary of headers is that of the protocol', t => {
  t.is(createHash('sha256').update(headerDictionary).digest('hex'), '51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02');
});

test('blocks of headers are read in their turn, squeezed or stored', async t => {
  using unpacker = new HeaderUnpacker();
  const squeeze = createDeflate({dictionary: headerDictionary, level: 9});
  const squeezed = async (block: Buffer): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    squeeze.on('data', (chunk: Buffer) => chunks.push(chunk));
    squeeze.write(block);
    await new Promise<void>(resolve => squeeze.flush(constants.Z_SYNC_FLUSH, resolve));
    squeeze.removeAllListeners('data');
    return Buffer.concat(chunks);
  };
  const block = Buffer.from('00000001000000046d6f64650000000361 00 62'.replaceAll(' ', ''), 'hex');

  t.deepEqual({...(await unpacker.unpack(await squeezed(block)))}, {mode: ['a', 'b']});
  t.deepEqual({...(await unpacker.unpack(await squeezed(block)))}, {mode: ['a', 'b']});

  using other = new HeaderUnpacker();
  const pack = headerPacker();
  const large = {streamtype: ['stdin'], large: ['x'.repeat(40_000)], many: ['1', '2']};
  const first = pack(large);
  t.is(first.subarray(-5).toString('hex'), '000000ffff', 'readers that look ahead see that it is whole');
  t.deepEqual({...(await other.unpack(first))}, large);
  t.deepEqual({...(await other.unpack(pack({a: ['']})))}, {a: ['']});
});

for (const [what, block] of [
  ['ends early', Buffer.from('00000002', 'hex')],
  ['has a header twice', Buffer.from('0000000200000001610000000162000000016100000001 63'.replaceAll(' ', ''), 'hex')],
  ['is larger than any', Buffer.concat([Buffer.from('00000001000000016100020000', 'hex'), Buffer.alloc(131_072)])],
] as const) {
  test(`a block of headers that ${what} is refused`, async t => {
    using unpacker = new HeaderUnpacker();

    await t.throwsAsync(unpacker.unpack(deflateSync(block, {dictionary: headerDictionary})));
  });
}

test('streams carry data both ways, and each half closes by itself', async t => {
  const {client, opened} = await anEnvironment(echo);
  const [one, other] = [client.open({streamType: 'stdin', Port: '80'}), client.open({streamType: 'error'})];
  one.end('to be echoed');
  other.write('first, ');
  other.end('second');

  t.is(await textOf(one), 'to be echoed');
  t.is(await textOf(other), 'first, second');
  t.deepEqual(
    opened.map(({id, headers}) => [id, {...headers}]),
    [
      [1, {streamtype: ['stdin'], port: ['80']}],
      [3, {streamtype: ['error']}],
    ],
  );
  client.close();
  t.is(await client.closed, undefined);
});

test('a large amount is transferred whole, also to a peer with flow control', async t => {
  const {client} = await anEnvironment(echo);
  const sent = Buffer.alloc(5 << 20, 'plat');
  const stream = client.open({});
  stream.end(sent);

  const received = Buffer.concat((await stream.toArray()) as Buffer[]);

  t.true(received.equals(sent));
  client.close();
});

test('a peer gets credit for bytes that were read, and its other frames are answered while it waits', async t => {
  let reader: SpdyStream | undefined;
  const {send, until, socket} = await aRawPeer('server', stream => (reader = stream));
  const piece = Buffer.alloc(16 << 10);
  send({kind: 'open', id: 1, headers: {}, fin: false, unidirectional: false});
  for (let sent = 0; sent < heldBytes; sent += piece.length) send({kind: 'data', id: 1, bytes: piece, fin: false});
  send({kind: 'ping', id: 1});
  const before = await until('800300060000000400000001');
  const held = reader!.readableLength;
  reader!.read(piece.length);
  const after = await until('80030009');

  t.false(before.includes('80030009'));
  t.is(held, heldBytes);
  t.true(after.endsWith('80030009000000080000000100004000'));
  socket.destroy();
});

test('a sender waits for a reader, by the connection', async t => {
  const {client, opened, sockets} = await anEnvironment();
  const stream = client.open({});
  const sent = 64 << 20;
  let done = false;
  stream.write(Buffer.alloc(sent), () => {
    done = true;
  });
  while (opened.length === 0 || opened[0]!.readableLength === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);

  t.false(done);
  t.true(opened[0]!.readableLength < 1 << 20);
  for (const socket of sockets) socket.destroy();
});

/** A peer whose every byte the test writes, and the bytes it received. */
const aRawPeer = async (side: 'client' | 'server', onStream: (stream: SpdyStream) => void = () => {}) => {
  const [one, other] = await aPair();
  const received: Buffer[] = [];
  other.on('data', (chunk: Buffer) => received.push(chunk));
  const write = frameWriter();
  return {
    session: new SpdySession(one, {side, onStream, maxStreams: 2}),
    socket: other,
    send: (frame: Frame) => void other.write(write(frame)),
    /** Waits for certain bytes, and gives all that came. */
    async until(hex: string): Promise<string> {
      for (;;) {
        const all = Buffer.concat(received).toString('hex');
        if (all.includes(hex)) return all;
        await once(other, 'data');
      }
    },
    /** Waits until so many bytes came. */
    async receivedBytes(bytes: number): Promise<Buffer> {
      for (;;) {
        const all = Buffer.concat(received);
        if (all.length >= bytes) return all;
        await once(other, 'data');
      }
    },
  };
};

test('pending writes are sent also where the peer closes its half before', async t => {
  const {send, receivedBytes, socket} = await aRawPeer('server', stream => void stream.resume().end('x'.repeat(100)));
  send({kind: 'settings', initialWindow: 60});
  send({kind: 'open', id: 1, headers: {}, fin: true, unidirectional: false});
  send({kind: 'ping', id: 1});
  const before = await receivedBytes(100 + 12);
  send({kind: 'window', id: 1, delta: 100});
  const all = await receivedBytes(before.length + 40 + 8);

  t.true(before.toString('latin1').includes('x'.repeat(60)));
  t.true(all.subarray(before.length).toString('latin1').includes('x'.repeat(40)));
  socket.destroy();
});

test('windows of a peer with flow control are respected', async t => {
  const {session, send, receivedBytes, socket} = await aRawPeer('client');
  send({kind: 'settings', initialWindow: 10});
  send({kind: 'ping', id: 2});
  await receivedBytes(20 + 12);
  const stream = session.open({});
  stream.write(Buffer.alloc(100, 'x'));
  const opening = (await receivedBytes(20 + 12 + 13)).length;
  send({kind: 'reply', id: 1, headers: {}, fin: false});

  const first = await receivedBytes(opening + 18);
  send({kind: 'ping', id: 4});
  const silent = await receivedBytes(first.length + 12);
  send({kind: 'window', id: 1, delta: 5});
  const second = await receivedBytes(silent.length + 13);

  t.is(first.length, opening + 18);
  t.is(second.length, silent.length + 13);
  socket.destroy();
});

for (const hasFlowControl of [true, false])
  test(`windows are ${hasFlowControl ? 'granted to a server that uses flow control' : 'not granted to a server that has shown no flow control'}`, async t => {
    const {session, send, until, socket} = await aRawPeer('client');
    if (hasFlowControl) send({kind: 'settings', initialWindow: 100});
    const stream = session.open({});
    send({kind: 'reply', id: 1, headers: {}, fin: false});
    send({kind: 'data', id: 1, bytes: Buffer.from('some bytes'), fin: false});
    await once(stream, 'data');
    send({kind: 'ping', id: 2});
    const all = await until('800300060000000400000002');

    t.is(all.includes('80030009'), hasFlowControl);
    socket.destroy();
  });

test('pings are answered, and streams are refused that are too many, out of turn or not wanted', async t => {
  const streams: SpdyStream[] = [];
  const {send, until, socket} = await aRawPeer('server', stream => void streams.push(stream));
  const open = (id: number) => send({kind: 'open', id, headers: {}, fin: false, unidirectional: false});
  send({kind: 'ping', id: 7});
  await until('800300060000000400000007');

  for (const id of [1, 3, 5, 3, 4]) open(id);
  send({kind: 'ping', id: 9});
  while (streams.length < 2) await new Promise(setImmediate);
  const all = await until('800300060000000400000009');

  t.deepEqual(
    streams.map(({id}) => id),
    [1, 3],
  );
  t.true(all.includes('80030003000000080000000500000003'), 'the third is refused');
  t.true(all.includes('80030003000000080000000300000001'), 'a number that was used is an error');
  t.true(all.includes('80030003000000080000000400000001'), 'a number of the other side is an error');
  socket.destroy();
});

test('a peer that pings and never reads an answer loses the connection', async t => {
  const [one, other] = duplexPair(); // Sockets of the system hold megabytes.
  const session = new SpdySession(other, {side: 'server'});
  const write = frameWriter();
  const pings = Buffer.concat(Array.from({length: 10_000}, (_, index) => write({kind: 'ping', id: 2 * index + 1})));
  one.on('error', () => {});
  while (!other.destroyed) if (!one.write(pings)) await Promise.race([once(one, 'drain').catch(() => {}), session.closed]);

  t.truthy(await session.closed);
  one.destroy();
});

test('frames that come in one piece are read a few in each turn of the event loop', async t => {
  const [one, other] = await aPair();
  const opened: number[] = [];
  const session = new SpdySession(other, {side: 'server', onStream: () => void opened.push(turn)});
  let turn = 0;
  const write = frameWriter();
  one.write(
    Buffer.concat(
      Array.from({length: 500}, (_, index) => write({kind: 'open', id: 2 * index + 1, headers: {}, fin: false, unidirectional: false})),
    ),
  );
  for (; opened.length < 500; turn++) await new Promise(setImmediate);

  const perTurn = new Map<number, number>();
  for (const each of opened) perTurn.set(each, (perTurn.get(each) ?? 0) + 1);
  t.true(Math.max(...perTurn.values()) <= 64);
  session.close();
  one.destroy();
});

test('bytes buffered for a peer are reported', async t => {
  const {client, server, opened} = await anEnvironment();
  client.open({}).write(Buffer.alloc(100_000));
  while (opened.length === 0 || opened[0]!.readableLength < 100_000) await new Promise(setImmediate);

  t.true(server.keptBytes >= 100_000 && server.keptBytes < 120_000);
  client.close();
});

test('a stream that is reset ends alone, one that is given up is reset', async t => {
  const {client, opened} = await anEnvironment(stream => stream.resume());
  const [one, other] = [client.open({}).resume(), client.open({})];
  while (opened.length < 2) await new Promise(setImmediate);

  const failed = closed(one);
  const given = closed(opened[1]!);
  opened[0]!.destroy();
  other.destroy();
  await Promise.all([failed, given]);

  t.deepEqual([one.lost, opened[1]!.lost], [undefined, undefined]);
  const third = client.open({});
  third.end('still there');
  while (opened.length < 3) await new Promise(setImmediate);
  client.close();
  t.is(await client.closed, undefined);
});

for (const [what, bytes] of [
  ['another version', '800200060000000400000007'],
  ['a frame that is too large', '8003000600ffffff00000007'],
  ['a frame that is too short', '800300060000000200000000'],
  ['headers that are none', '80030001000000100000000100000000000012345678901234567890'],
] as const) {
  test(`${what} ends the connection, and every stream`, async t => {
    const {session, socket} = await aRawPeer('client');
    const stream = session.open({});
    socket.write(Buffer.from(bytes, 'hex'));

    t.true((await session.closed) instanceof Error);
    t.is(await textOf(stream), '');
    t.true(stream.lost instanceof Error);
    socket.destroy();
  });
}

test('a connection that ends takes its streams with it, and a goodbye lets them end', async t => {
  const {client, server, sockets, opened} = await anEnvironment(echo);
  const stream = client.open({}).resume();
  while (opened.length === 0) await new Promise(setImmediate);

  server.close();
  stream.end('after the goodbye');
  sockets[1].destroy();
  await client.closed;
  if (!stream.destroyed) await closed(stream);

  t.true(stream.destroyed);
  t.true(client.open({}).destroyed);
});

test('data from before a reset can still be read', async t => {
  const {session, send, receivedBytes, socket} = await aRawPeer('client');
  const stream = session.open({});
  await receivedBytes(20 + 13);
  send({kind: 'reply', id: 1, headers: {}, fin: false});
  send({kind: 'data', id: 1, bytes: Buffer.from('sent before'), fin: false});
  send({kind: 'reset', id: 1, status: 5});
  send({kind: 'ping', id: 2});
  await receivedBytes(20 + 13 + 12);

  t.is(await textOf(stream), 'sent before');
  t.is(stream.lost, undefined);
  socket.destroy();
});

test('whatever a peer sends, the connection goes on or ends, and nothing else happens', async t => {
  const random = seededRandom(7);
  const write = frameWriter();
  const whole = Buffer.concat([
    write({kind: 'settings', initialWindow: 100}),
    write({kind: 'open', id: 1, headers: {streamtype: ['stdin']}, fin: false, unidirectional: false}),
    write({kind: 'data', id: 1, bytes: Buffer.from('said'), fin: false}),
    write({kind: 'window', id: 1, delta: 5}),
    write({kind: 'headers', id: 1, headers: {more: ['x']}, fin: true}),
    write({kind: 'reset', id: 1, status: 1}),
    write({kind: 'goAway', last: 1, status: 0}),
  ]);
  for (let round = 0; round < 150; round++) {
    const bytes = Buffer.from(whole);
    for (let change = 0; change < 1 + (round % 4); change++)
      bytes[Math.floor(random.float() * bytes.length)] = Math.floor(random.float() * 256);
    const {session, socket} = await aRawPeer('server', stream => void stream.resume());
    socket.on('error', () => {});
    socket.end(bytes);

    const error = await session.closed;
    t.true(error === undefined || error instanceof Error);
    socket.destroy();
  }
});
