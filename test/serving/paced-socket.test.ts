import tls from 'node:tls';
import test from 'ava';
import type {ApiRequest} from '#src/api/request.js';
import {type Clock, systemClock} from '#src/base/clock.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {upgradeToWebSocket} from '#src/serving/agent/upgrade.js';
import {PacedSocket} from '#src/serving/streams/paced-socket.js';
import {FragmentedFrames} from '#src/serving/streams/websocket-fragments.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {answering, serve, type TestServer} from './server.js';

const random = seededRandom(7);
const below = (limit: number): number => Math.floor(random.float() * limit);
const someBytes = (length: number): Buffer => Buffer.from(Array.from({length}, () => below(256)));

/** A masked frame (RFC 6455, section 5.2). */
const frame = (lead: number, payload: Buffer): Buffer => {
  const mask = someBytes(4);
  const {length} = payload;
  const size = Buffer.alloc(length < 126 ? 1 : length < 1 << 16 ? 3 : 9);
  size[0] = 0x80 | (length < 126 ? length : length < 1 << 16 ? 126 : 127);
  if (size.length === 3) size.writeUInt16BE(length, 1);
  if (size.length === 9) size.writeUInt32BE(length, 5);
  return Buffer.concat([Buffer.from([lead]), size, mask, payload.map((byte, index) => byte ^ mask[index % 4]!)]);
};

const final = 0x80;
const binary = 2;
const ping = 9;

/** Sends an upgrade, and resolves once it was accepted. */
const upgraded = (server: TestServer): Promise<tls.TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['http/1.1']}, () => {
      socket.setNoDelay();
      socket.write(
        'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      );
    });
    socket.once('data', () => resolve(socket)).once('error', reject);
  });

const receiving = async (receive: (message: Buffer) => void, onClose = () => {}) =>
  serve(
    answering((request: ApiRequest) =>
      upgradeToWebSocket(request, '', {clock: systemClock, idleMs: 0}, client => {
        client.onMessage(receive);
        client.onClose(onClose);
      }),
    ),
  );

test('WebSocket messages arrive as they were sent, however their frames and the records of the connection are cut', async t => {
  const sent: Buffer[] = [];
  const frames: Buffer[] = [];
  for (let index = 0; index < 40; index++) {
    const parts = Array.from({length: 1 + below(3)}, () => someBytes([0, 3, 125, 126, 4000, 70_000][below(6)]!));
    sent.push(Buffer.concat(parts));
    for (const [at, part] of parts.entries()) {
      frames.push(frame((at === 0 ? binary : 0) | (at === parts.length - 1 ? final : 0), part));
      if (below(3) === 0) frames.push(frame(final | ping, someBytes(below(126))));
    }
  }
  const bytes = Buffer.concat(frames);
  let complete = () => {};
  const all = new Promise<void>(resolve => (complete = resolve));
  const received: Buffer[] = [];
  await using server = await receiving(message => {
    received.push(message);
    if (received.length === sent.length) complete();
  });
  const socket = await upgraded(server);
  for (let at = 0; at < bytes.length;) {
    const length = 1 + below([2, 9, 500, 20_000][below(4)]!);
    socket.write(bytes.subarray(at, at + length));
    at += length;
  }
  await all;

  t.true(received.every((message, index) => message.equals(sent[index]!)));
  socket.destroy();
});

test('a large frame is passed on in fragments as it arrives', t => {
  const frames = new FragmentedFrames(1 << 20);
  const whole = frame(final | binary, someBytes(300_000));
  const lengths: number[] = [];
  for (let at = 0; at < whole.length; at += 16_384) {
    const chunk = whole.subarray(at, at + 16_384);
    const passed = frames.split(chunk);
    lengths.push(passed.length - chunk.length);
    // Each is one fragment: its length is the rest of what is passed on.
    t.is(passed.readUInt16BE(2) + 8, passed.length);
    t.is(passed[0]! & final, at + 16_384 < whole.length ? 0 : final);
  }

  t.true(lengths.every(more => more <= 8));
  t.is(frames.heldBytes, 0);
});

test('a frame above the limit is passed on as it is, and its client is refused at the header', async t => {
  const header = frame(final | binary, Buffer.alloc(0)).subarray(0, 1);
  const tooLong = Buffer.concat([header, Buffer.from([0xff, 0, 0, 0, 0, 0x10, 0, 0, 0, 1, 2, 3, 4])]);
  const frames = new FragmentedFrames(1 << 20);
  t.deepEqual(frames.split(tooLong), tooLong);

  let closed = () => {};
  const closing = new Promise<void>(resolve => (closed = resolve));
  await using server = await receiving(
    () => t.fail(),
    () => closed(),
  );
  const socket = await upgraded(server);
  const answered = new Promise<Buffer>(resolve => socket.once('data', resolve));
  socket.write(tooLong);

  t.is((await answered).readUInt16BE(2), 1009);
  socket.destroy();
  await closing;
});

/** A clock on which every look takes longer than a turn of the event loop may. */
const aSlowClock = (): Clock => {
  let time = 0;
  return Object.assign(new VirtualClock(), {monotonic: () => (time += 10)});
};

test('what many connections receive at once is passed on in one turn of the event loop for each chunk', async t => {
  const clock = aSlowClock();
  const turns: number[] = [];
  let turn = 0;
  const pairs = Array.from({length: 10}, () => duplexPair());
  for (const [near] of pairs) new PacedSocket(near, {clock}).on('data', () => void turns.push(turn));
  for (const [, far] of pairs) for (let chunk = 0; chunk < 3; chunk++) far.write(Buffer.alloc(16_384));
  for (; turns.length < 30; turn++) await new Promise(resolve => setImmediate(resolve));

  const most = Math.max(...turns.map(each => turns.filter(other => other === each).length));
  t.true(most <= 2, `${most} chunks in one turn`);
  for (const [near] of pairs) near.destroy();
});

test('a paced connection is not read while chunks of it wait, or while its reader does', async t => {
  const [near, far] = duplexPair();
  const paced = new PacedSocket(near, {clock: systemClock});
  let unread = 0;
  for (; unread < 100 && far.writableLength === 0; unread++) {
    far.write(Buffer.alloc(16_384));
    await new Promise(resolve => setImmediate(resolve));
  }
  t.true(unread < 20, `${unread} chunks are held for a reader that takes none`);

  let bytes = 0;
  paced.on('data', (chunk: Buffer) => (bytes += chunk.length));
  far.end();
  await new Promise(resolve => paced.once('end', resolve));
  t.is(bytes, unread * 16_384);
  paced.destroy();
});

test('a paced connection ends, fails and is counted with the one below it', async t => {
  const [near, far] = duplexPair();
  const paced = new PacedSocket(near, {clock: systemClock});
  paced.on('error', () => {}).resume();
  for (let index = 0; index < 100; index++) paced.write(Buffer.alloc(16_384));
  t.true(paced.unwrittenBytes + near.writableLength >= paced.writableLength);
  t.true(paced.unwrittenBytes > 0);

  far.destroy();
  near.destroy(new Error('reset'));
  await new Promise(resolve => paced.once('close', resolve));
  t.is(paced.errored?.message, 'reset');
});
