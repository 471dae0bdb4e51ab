import {once} from 'node:events';
import http2 from 'node:http2';
import type {Socket} from 'node:net';
import type {Attacker} from './wire.js';

/**
 * Attacks a port, and returns what was answered against the rules. The connections stay open until the attacker is
 * disposed of.
 */
export type Attack = (attacker: Attacker) => Promise<string[]>;

/** The streams of one session: fewer than any port allows. */
const streamsOfSession = 200;
const longPath = `/${'a'.repeat(60_000)}`;
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const turn = () => new Promise(setImmediate);

/** Opens connections, a few at a time, and does something with each. */
const onEach = async (attacker: Attacker, count: number, begin: (socket: Socket) => void): Promise<string[]> => {
  for (let opened = 0; opened < count; opened += 20) {
    const sockets = Array.from({length: Math.min(20, count - opened)}, () => attacker.socket());
    const ready = attacker.target.isPlain ? 'connect' : 'secureConnect';
    await attacker.patience(Promise.allSettled(sockets.map(socket => once(socket, ready))));
    for (const socket of sockets) if (!socket.destroyed) begin(socket);
  }
  return [];
};

/** Requests over streams that may not get a byte. */
const unread = async (attacker: Attacker, count: number, path: string): Promise<string[]> => {
  let answered = 0;
  for (let sent = 0; sent < count; sent += streamsOfSession) {
    const session = await attacker.session(0);
    const before = answered;
    const most = Math.min(streamsOfSession, count - sent);
    let ended = 0;
    for (let index = 0; index < most; index++) {
      const stream = attacker.stream(session, {':path': path});
      stream?.once('response', () => answered++);
      stream?.once('close', () => ended++);
      if (index % 20 === 0) await turn();
    }
    const isOver = () => session.destroyed || answered - before >= most || ended >= most;
    const all = async () => {
      while (!isOver()) await turn();
    };
    await attacker.patience(all());
  }
  return [];
};

const slowBody = ({target}: Attacker): string =>
  `POST ${target.bodies} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;

const pipelined = (attacker: Attacker): string => 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(attacker.many(20_000));

/** Frames of HTTP/2 that ask for nothing: WINDOW_UPDATE, PRIORITY, SETTINGS, PING, of an unknown type. */
const empty = [
  '000004080000000000000000 01',
  '000005020000000003000000 0101',
  '000000040000000000',
  '00000806000000000000000000 00000000',
  '0000004d0000000000',
].map(text => Buffer.from(text.replaceAll(' ', ''), 'hex'));

/** Bytes that look like frames of HTTP/2. */
const frames = (attacker: Attacker): Buffer =>
  Buffer.concat(
    Array.from({length: 1 + Math.floor(attacker.random.float() * 12)}, () => {
      const payload = attacker.noise(60);
      const head = Buffer.alloc(9);
      head.writeUIntBE(payload.length, 0, 3);
      head[3] = Math.floor(attacker.random.float() * 12);
      head[4] = Math.floor(attacker.random.float() * 256);
      head.writeUInt32BE(attacker.pick([0, 1, 2, 3, 5, 2 ** 31 - 1]), 5);
      return Buffer.concat([head, payload]);
    }),
  );

/** Requests that are answered with an error, whatever they ask for. */
const malformed = [
  'GET /healthz\r\n\r\n',
  'GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: x\r\nHOST: x\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nX: y\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: a@b\r\n\r\n',
  'GET /healthz%zz HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n',
];

/** Attacks on any port. */
const anywhere: Readonly<Record<string, Attack>> = {
  'idle connections': attacker => onEach(attacker, attacker.many(attacker.target.connections * 1.2), () => {}),
  'connections without a handshake'(attacker) {
    for (let count = attacker.many(attacker.target.connections); count > 0; count--) attacker.bare().write(attacker.noise(200));
    return Promise.resolve([]);
  },
  'slow headers': attacker =>
    onEach(
      attacker,
      attacker.many(200),
      socket => void socket.write(attacker.pick(['G', 'GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nHost: x\r\nX: '])),
    ),
  'slow bodies': attacker => onEach(attacker, attacker.many(120), socket => void socket.write(slowBody(attacker))),
  'half-closed sockets': attacker =>
    onEach(attacker, attacker.many(100), socket => {
      const path = attacker.pick(['/healthz', '/none', longPath.slice(0, 8000)]);
      socket.end(attacker.pick([`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, slowBody(attacker), 'GET ']));
    }),
  'pipelined requests without reading': attacker =>
    onEach(attacker, attacker.many(10), socket => {
      socket.pause();
      socket.write(pipelined(attacker));
    }),
  'pipelined requests': attacker => onEach(attacker, attacker.many(10), socket => void socket.resume().write(pipelined(attacker))),
  async 'malformed requests'(attacker) {
    const answers = await Promise.all(malformed.map(request => attacker.exchange(request)));
    return answers.flatMap((answer, index) =>
      /^HTTP\/1\.1 (?:400|505) /.test(answer)
        ? []
        : [`${JSON.stringify(malformed[index])} is answered with ${JSON.stringify(answer.slice(0, 200))}`],
    );
  },
};

/** Attacks on ports that speak HTTP/2. */
const overHttp2: Readonly<Record<string, Attack>> = {
  'unread small answers': attacker => unread(attacker, attacker.many(4000), '/healthz'),
  'unread answers to long paths': attacker => unread(attacker, attacker.many(1500), longPath),
  'unread documents': attacker => unread(attacker, attacker.many(300), attacker.target.document ?? '/healthz'),
  async 'unread small answers, then long paths'(attacker) {
    await unread(attacker, attacker.many(2000), '/healthz');
    return unread(attacker, attacker.many(1000), longPath);
  },
  async 'slow bodies of streams'(attacker) {
    const session = await attacker.session();
    for (let count = attacker.many(200); count > 0; count--)
      attacker.stream(session, {':method': 'POST', ':path': attacker.target.bodies, 'content-type': 'application/json'}, false)?.write('{');
    return [];
  },
  async 'streams that are reset'(attacker) {
    for (let sessions = attacker.many(10); sessions > 0; sessions--) {
      const session = await attacker.session();
      const later: (() => void)[] = [];
      for (let count = 0; count < 300; count++) {
        const stream = attacker.stream(session, {':path': attacker.pick(['/healthz', longPath, '/none'])});
        const cancel = () => stream?.close(http2.constants.NGHTTP2_CANCEL);
        if (attacker.random.float() < 0.5) cancel();
        else later.push(cancel);
      }
      await turn();
      for (const cancel of later) cancel();
    }
    return [];
  },
  async 'frames that ask for nothing'(attacker) {
    const alive = await Promise.all(
      Array.from({length: attacker.many(20)}, async () => {
        const socket = attacker.socket('h2').resume();
        const flood = Buffer.concat(Array<Buffer>(2000).fill(attacker.pick(empty)));
        const send = () => {
          while (!socket.destroyed && socket.write(flood));
        };
        socket.write(preface);
        socket.on('drain', send);
        send();
        for (let waits = 0; waits < 5 && !socket.destroyed; waits++) await attacker.patience(once(socket, 'close'));
        return !socket.destroyed;
      }),
    );
    return alive.includes(true) ? ['a connection that only sends frames is kept'] : [];
  },
  async 'garbage after the preface'(attacker) {
    for (let count = attacker.many(100); count > 0; count--) {
      const socket = attacker.socket('h2');
      socket.write(Buffer.concat([Buffer.from(preface), attacker.random.float() < 0.5 ? frames(attacker) : attacker.noise(300)]));
      if (count % 20 === 0) await attacker.patience(once(socket, 'close'));
    }
    return [];
  },
  async 'users in the authority'(attacker) {
    const session = await attacker.session();
    const stream = attacker.stream(session, {':path': '/healthz', ':authority': 'user:password@x'});
    if (!stream) return ['the session has ended'];
    stream.resume();
    await attacker.patience(once(stream, 'close'));
    return stream.rstCode === http2.constants.NGHTTP2_PROTOCOL_ERROR ? [] : [`a user in the authority ends with ${stream.rstCode}`];
  },
};

export const attacksOn = ({isPlain}: {readonly isPlain: boolean}): readonly (readonly [string, Attack])[] =>
  Object.entries(isPlain ? anywhere : {...anywhere, ...overHttp2});
