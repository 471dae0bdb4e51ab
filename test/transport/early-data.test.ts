import {Duplex} from 'node:stream';
import test from 'ava';
import {streamed} from '#src/transport/http2/streamed.js';
import type {Sessions} from '#src/transport/http2/sessions.js';

/** A stream of a session, whose events the test emits. */
class AStream extends Duplex {
  readonly aborted = false;
  readonly rstCode = 0;
  override _read(): void {}
  override _write(): void {}
  setTimeout(): void {}
}

const request = {method: 'GET', path: '/', headers: [], timeoutMs: 0};

/** The sessions of one stream, which Node gives a part of the body before the head. */
const sessionsOf = (stream: AStream) =>
  ({
    isConnected: true,
    async stream(start: (session: object) => unknown) {
      start({request: () => stream});
      stream.emit('data', Buffer.from('one '));
      stream.emit('response', {':status': 200});
      stream.emit('data', Buffer.from('two'));
    },
  }) as unknown as Sessions;

test('what arrives of a body before its head is part of the stream', async t => {
  const stream = new AStream();
  let received = '';
  let hasBegun = false;
  const ended = new Promise(resolve => {
    void streamed(sessionsOf(stream), request, undefined, {
      begin: () => void (hasBegun = true),
      data: chunk => {
        t.true(hasBegun);
        received += chunk.toString();
      },
      end: resolve,
    });
  });
  stream.emit('end');
  stream.destroy();

  t.is(await ended, undefined);
  t.is(received, 'one two');
});

test('what arrives of a body before its head is part of a response that is returned whole', async t => {
  const stream = new AStream();
  const reply = streamed(sessionsOf(stream), request, undefined);
  stream.emit('end');
  stream.destroy();

  t.is((await reply)?.body.toString(), 'one two');
});
