import test, {type ExecutionContext} from 'ava';
import http2, {type ClientHttp2Session, type ClientHttp2Stream} from 'node:http2';
import {once} from 'node:events';
import type {ApiRequest, ApiResponse, BodyObserver, ResponseBody} from '#src/api/request.js';
import {systemClock} from '#src/base/clock.js';
import {BodyChunks} from '#src/base/collections/body-chunks.js';
import {seededRandom} from '#src/base/random.js';
import {createHttpServer} from '#src/serving/http-server.js';
import type {RequestHandler} from '#src/serving/listener.js';
import {answering, json, serve} from './server.js';

/** A server that answers with the length of each body, and the responses that it has sent to the end. */
const start = async (t: ExecutionContext, observe?: (request: ApiRequest) => void, proceeds?: Promise<void>) => {
  const outcomes: (number | string)[] = [];
  let closed!: () => void;
  const isSent = new Promise<void>(resolve => {
    closed = resolve;
  });
  const server = await serve(
    answering(async (request): Promise<ApiResponse> => {
      observe?.(request);
      const outcome = request.body?.kind === 'bytes' ? await request.body.read(1_000_000).then(length, message) : 'none';
      outcomes.push(outcome);
      await proceeds;
      const delivery = {
        endsAt: Infinity,
        [Symbol.dispose]() {
          closed();
        },
      };
      return {...json({outcome}), delivery};
    }),
  );
  const session = http2.connect(server.url, {ca: server.ca});
  t.teardown(async () => {
    session.destroy();
    await server[Symbol.asyncDispose]();
  });
  return {session, outcomes, isSent};
};

const length = ({length}: Buffer): number => length;
const message = (error: Error): string => error.message;
const post = (session: ClientHttp2Session): ClientHttp2Stream => session.request({':method': 'POST', ':path': '/'}, {endStream: false});

/** Returns the outcome that the server answers with. */
const answered = async (request: ClientHttp2Stream): Promise<unknown> => {
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(request, 'end');
  return (JSON.parse(text) as {outcome: unknown}).outcome;
};

for (const pieces of [[0], [1], [1000], [16_383], [16_384], [16_385], [1, 1, 1], [100_000, 1, 100_000], [65_535, 65_536]]) {
  test(`a body in pieces of ${pieces.join(', ')} bytes is read whole, and its response ends`, async t => {
    const {session, isSent} = await start(t);
    const request = post(session);
    const answer = answered(request);
    for (const piece of pieces) {
      request.write(Buffer.alloc(piece, 'x'));
      await new Promise(resolve => setImmediate(resolve));
    }
    request.end();

    t.is(
      await answer,
      pieces.reduce((sum, piece) => sum + piece),
    );
    await isSent;
  });
}

test('a body that is too long is refused while the rest of it arrives, and its response ends', async t => {
  const {session, isSent} = await start(t);
  const request = post(session);
  const answer = answered(request);
  request.on('error', () => undefined).end(Buffer.alloc(3_000_000));

  t.regex(String(await answer), /limit is 1000000/);
  await isSent;
});

test('a body whose reading is stopped is refused, and its response ends, whether the rest arrives or not', async t => {
  for (const rest of [Buffer.alloc(10_000), undefined]) {
    let stop!: (error: Error) => void;
    const reading: BodyObserver = {started: to => void (stop = to), received: () => stop(new Error('too many')), ended: () => undefined};
    const {session, isSent} = await start(t, ({body}) => body?.kind === 'bytes' && body.observe?.(reading));
    const request = post(session);
    const answer = answered(request);
    request.on('error', () => undefined).write(Buffer.alloc(1000));
    if (rest) request.end(rest);

    t.is(await answer, 'too many');
    await isSent;
  }
});

test('a body that breaks off is refused', async t => {
  const {session, outcomes, isSent} = await start(t);
  const request = post(session).on('error', () => undefined);
  await new Promise(resolve => request.write('x', resolve));
  await new Promise(resolve => session.ping(resolve));
  session.destroy();
  await isSent.catch(() => undefined);

  t.deepEqual(outcomes, ['the body of the request ended early']);
});

test('a stream that its client closes before the response ends', async t => {
  let proceed!: () => void;
  const isClosed = new Promise<void>(resolve => {
    proceed = resolve;
  });
  const {session, outcomes, isSent} = await start(t, undefined, isClosed);
  const request = post(session);
  request.end('x');
  request.close(http2.constants.NGHTTP2_NO_ERROR);
  await once(request, 'close');
  await new Promise(resolve => session.ping(resolve));
  proceed();
  await isSent;

  t.deepEqual(outcomes, [1]);
});

const bodies: Readonly<Record<string, ResponseBody>> = {
  'an object': {kind: 'bytes', bytes: '{}', contentType: 'application/json'},
  'a watch': {kind: 'watch', contentType: 'application/json', start: () => ({[Symbol.dispose]() {}})},
  pages: {kind: 'pages', contentType: 'application/json', next: () => new Promise(() => {}), object: async () => ({}), close() {}},
};

for (const [answer, body] of Object.entries(bodies))
  for (const ends of [true, false]) {
    const state = ends ? 'has ended' : 'still arrives';
    test(`a body that nobody reads and that ${state} takes no memory while its client does not read ${answer}`, async t => {
      const http = createHttpServer(async () => ({status: 200, headers: {}, body}), {clock: systemClock, random: seededRandom(1)});
      let unread = (): number => NaN;
      const handler: RequestHandler = {
        http1: (...of) => http.http1(...of),
        upgrade: (...of) => http.upgrade(...of),
        fault: error => http.fault(error),
        http2(stream, ...of) {
          unread = () => stream.readableLength;
          http.http2(stream, ...of);
        },
      };
      await using server = await serve(
        answering(() => json({})),
        {listener: {handler}},
      );
      const session = http2.connect(server.url, {ca: server.ca, settings: {initialWindowSize: 0}});
      const request = post(session).on('error', () => undefined);
      const response = once(request, 'response');
      const bytes = Buffer.alloc(60_000);
      await new Promise<void>(sent => void (ends ? request.end(bytes, sent) : request.write(bytes, () => sent())));
      await response;
      await new Promise(resolve => session.ping(resolve));

      t.is(unread(), 0);
      session.destroy();
    });
  }

test('a body that comes byte by byte is kept in few buffers', t => {
  const sent = Buffer.from(Array.from({length: 100_000}, (_, index) => index % 251));
  const chunks = new BodyChunks();
  for (let index = 0; index < sent.length; index++) chunks.push(sent.subarray(index, index + 1));

  t.true(chunks.count < 1000);
  t.true(chunks.take().equals(sent));
});
