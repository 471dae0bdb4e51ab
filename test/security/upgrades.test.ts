import {once} from 'node:events';
import {connect} from 'node:tls';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {webhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import {startWebhook} from '#test/apiserver/webhook-server.js';
import {aBackend} from '#test/transport/backend.js';
import {messageOf, relaying} from '#test/transport/relaying.js';
import {ask1} from '#test/serving/server.js';

const hidden = 'GET /hidden HTTP/1.1\r\nHost: back\r\nX-Remote-User: admin\r\n\r\n';
const upgrade = (more: readonly string[] = [], method = 'GET') =>
  [`${method} /up HTTP/1.1`, 'Host: front', 'Connection: Upgrade', 'Upgrade: echo/1', ...more, '', ''].join('\r\n');

/** Sends bytes, and returns what comes back until the server or the time ends it. */
const exchange = async (server: {readonly port: number; readonly ca: string}, first: string, later = ''): Promise<string> => {
  const socket = connect({host: '127.0.0.1', port: server.port, ca: server.ca});
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (later) socket.write(later);
    later = '';
  });
  socket.write(first);
  await once(socket, 'close').catch(() => {});
  return text;
};

for (const [what, answer] of [
  ['403', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'],
  ['200', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['400 without an end', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['302', 'HTTP/1.1 302 Found\r\nLocation: /hidden\r\nContent-Length: 0\r\n\r\n'],
  ['426', 'HTTP/1.1 426 Upgrade Required\r\nUpgrade: other/2\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n'],
] as const) {
  test(`after an upgrade that a backend refuses with ${what} no further byte of the client reaches it`, async t => {
    let received = '';
    await using backend = await aBackend(() => {}, {
      upgrade(_, socket, head) {
        received += head.toString('latin1');
        socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
        socket.once('end', () => socket.end());
        socket.write(answer);
        if (!answer.includes('Content-Length')) socket.end();
      },
    });
    await using server = await relaying(backend);

    await exchange(server, upgrade() + hidden, hidden);
    while (backend.open > 0) await new Promise(setImmediate);

    t.is(received, '');
    t.deepEqual(
      backend.requests.map(({url}) => url),
      ['/up'],
    );
  });
}

test('a backend that switches protocols without being asked is given up', async t => {
  await using backend = await aBackend(request => {
    request.socket.once('end', () => request.socket.destroy());
    request.socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
    );
  });
  await using server = await relaying(backend);

  const {status, body} = await ask1(server);
  t.is(status, 500);
  t.is(messageOf(body), 'backend tried to switch protocol "echo/1" when "" was requested');
  while (backend.open > 0) await new Promise(setImmediate);
});

test('the body of a request for an upgrade does not become a request of its own', async t => {
  await using backend = await aBackend((_, response) => response.end('ok'), {
    upgrade: (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
  });
  await using server = await relaying(backend);
  for (const more of [
    [`Content-Length: ${hidden.length}`],
    ['Transfer-Encoding: chunked'],
    [`Content-Length: ${hidden.length}`, 'Transfer-Encoding: chunked'],
  ])
    for (const method of ['GET', 'POST'])
      await exchange(
        server,
        upgrade(more, method) +
          (more.length === 1 && more[0]!.startsWith('C') ? hidden : `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
      );

  t.false(
    backend.requests.some(({url}) => url === '/hidden'),
    backend.requests.map(({url}) => url).join(),
  );
});

test('a webhook that switches protocols has failed at once', async t => {
  await using webhook = await startWebhook(() => {});
  webhook.server.removeAllListeners('request');
  webhook.server.on(
    'request',
    request => void request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n{}'),
  );
  const caller = webhookCaller({clock: systemClock, userAgent: 'tester', resolve: () => Promise.reject(new Error('no service'))});

  const {message} = await t.throwsAsync(caller.call({url: webhook.url, caBundle: webhook.caBundle}, {}, {timeoutMs: 30_000}));
  t.notRegex(message, /deadline/);
  caller.close();
});
