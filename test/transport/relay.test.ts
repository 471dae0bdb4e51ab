import {once} from 'node:events';
import https from 'node:https';
import {connect} from 'node:tls';
import test from 'ava';
import type {Target} from '#src/transport/dial.js';
import {ask1, bothVersions} from '#test/serving/server.js';
import {aBackend} from './backend.js';
import {messageOf, pool, relaying, to} from './relaying.js';

test.after.always(() => pool[Symbol.dispose]());

for (const [version, ask] of bothVersions) {
  test(`a call is passed on as it is but for the headers of the connection and of the caller's identity, and so is its answer (${version})`, async t => {
    await using backend = await aBackend((request, response) => {
      response.writeHead(203, [
        'X-Own',
        'a',
        'X-Own',
        'b',
        'Keep-Alive',
        'timeout=1',
        'Connection',
        'X-Gone',
        'X-Gone',
        '1',
        'Content-Type',
        'text/odd',
      ]);
      request.pipe(response);
    });
    await using server = await relaying(backend);

    const answer = await ask(server, {
      method: 'PUT',
      path: '/some/path?q=%20',
      headers: {
        authorization: 'Bearer secret',
        'impersonate-user': 'x',
        'x-remote-user': 'y',
        'x-forwarded-for': '1.2.3.4',
        'x-mine': 'kept',
      },
      body: 'what is sent',
    });
    const [{method, url, headers}] = backend.requests as [(typeof backend.requests)[0]];

    t.deepEqual(server.faults, []);
    t.deepEqual(
      [answer.status, answer.body.toString(), answer.headers['content-type'], answer.headers['x-gone']],
      [203, 'what is sent', 'text/odd', undefined],
    );
    t.is(String(answer.headers['x-own']), 'a, b');
    t.deepEqual([method, url, headers['x-mine'], headers['x-forwarded-for']], ['PUT', '/some/path?q=%20', 'kept', '1.2.3.4, 127.0.0.1']);
    t.deepEqual([headers.authorization, headers['impersonate-user'], headers['x-remote-user']], [undefined, undefined, undefined]);
  });
}

test('bodies go through while they are written, both ways at once', async t => {
  await using backend = await aBackend((request, response) => {
    response.writeHead(200).flushHeaders();
    request.on('data', (chunk: Buffer) => response.write(`>${chunk.toString()}`)).on('end', () => response.end());
  });
  await using server = await relaying(backend);
  const outgoing = https.request({
    host: '127.0.0.1',
    port: server.port,
    ca: server.ca,
    agent: false,
    method: 'POST',
    headers: {'transfer-encoding': 'chunked'},
  });
  outgoing.flushHeaders();

  const [answer] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  outgoing.write('one');
  const [first] = (await once(answer, 'data')) as [Buffer];
  outgoing.write('two');
  const [second] = (await once(answer, 'data')) as [Buffer];
  outgoing.end();
  await once(answer, 'end');

  t.deepEqual([first.toString(), second.toString()], ['>one', '>two']);
});

test('a client that disconnects ends the request to the backend, and a backend that breaks off breaks the response off', async t => {
  let left!: () => void;
  const leaving = new Promise<void>(resolve => {
    left = resolve;
  });
  await using backend = await aBackend((request, response) => {
    response.writeHead(200).write('begun');
    if (request.url === '/broken') setImmediate(() => response.destroy());
    else response.once('close', left);
  });
  await using server = await relaying(backend);
  const outgoing = https
    .request({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false})
    .on('error', () => {})
    .end();

  const [answer] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  await once(answer, 'data');
  outgoing.destroy();
  await leaving;
  await t.throwsAsync(ask1(server, {path: '/broken'}), {code: 'ECONNRESET'});
});

test("calls share kept connections, and a redirect is the caller's to follow, or is refused", async t => {
  await using backend = await aBackend((_, response) => response.writeHead(302, {location: '/else'}).end());
  await using server = await relaying(backend);
  await using strict = await relaying(backend, {refusesRedirects: true});

  const followed = await ask1(server);
  await ask1(server);
  const refused = await ask1(strict);

  t.deepEqual([followed.status, followed.headers['location']], [302, '/else']);
  t.deepEqual([refused.status, refused.body.toString()], [502, 'the backend attempted to redirect this request, which is not permitted']);
  t.is(backend.made, 1);
});

test('the certificate of a backend is verified, and it gets the identity of the user', async t => {
  await using backend = await aBackend(
    (request, response) => response.end(String((request.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN)),
    {tls: true},
  );
  const {aPair, anAuthority} = await import('#test/serving/credentials.js');
  const {cert, key} = await aPair(await anAuthority(), {commonName: 'caller'}, 'client auth');
  const reported = async (tls: Target['tls']) => {
    await using server = await relaying(backend, {to: to(backend, {tls})});
    const {status, body} = await ask1(server);
    return status === 200 ? body.toString() : messageOf(body);
  };
  const {ca} = backend;

  t.is(await reported({ca, pair: {cert, key}}), 'caller');
  t.is(await reported({insecure: true}), 'undefined');
  t.is(await reported({}), 'tls: failed to verify certificate: x509: certificate signed by unknown authority');
  t.regex(
    await reported({ca, serverName: 'other.example'}),
    /^tls: failed to verify certificate: x509: certificate is valid for .+, not other\.example$/,
  );
});

test('unreachable, broken and oversized backends are reported in the error', async t => {
  await using backend = await aBackend((request, response) => {
    if (request.url === '/hangup') request.socket.destroy();
    else if (request.url === '/nonsense') request.socket.end('nonsense\r\n\r\n');
    else response.writeHead(200, {'x-large': 'x'.repeat(2 << 20)}).end();
  });
  await using server = await relaying(backend);
  const {port} = backend;
  await using secure = await relaying(backend, {to: {scheme: 'https', host: '127.0.0.1', port}});
  await using unreachable = await relaying(backend, {to: {scheme: 'http', host: '127.0.0.1', port: '1'}});
  const reported = async (from: typeof server, path: string) => messageOf((await ask1(from, {path})).body);

  t.is(await reported(unreachable, '/'), 'dial tcp 127.0.0.1:1: connect: connection refused');
  t.is(await reported(server, '/hangup'), 'EOF');
  t.regex(await reported(server, '/nonsense'), /^net\/http: HTTP\/1\.x transport connection broken: malformed HTTP response/);
  t.is(await reported(server, '/large'), 'net/http: server response headers exceeded the limit; aborted');
  t.is(await reported(secure, '/'), 'http: server gave HTTP response to HTTPS client');
});

/** Speaks to a server by a raw request for another protocol. */
const raw = (server: {readonly port: number; readonly ca: string}, headers: readonly string[] = []) => {
  const socket = connect({host: '127.0.0.1', port: server.port, ca: server.ca});
  socket.write(['GET /up HTTP/1.1', 'Host: front', 'Connection: Upgrade', 'Upgrade: echo/1', ...headers, '', ''].join('\r\n'));
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return {
    socket,
    get text() {
      return text;
    },
    async until(pattern: RegExp) {
      while (!pattern.test(text)) await once(socket, 'data');
      return text;
    },
  };
};

test('an upgrade joins two connections, with early bytes of either side, until one side ends', async t => {
  await using backend = await aBackend(() => {}, {
    tls: true,
    upgrade: (_, socket, head) => {
      socket.write('HTTP/1.1 101 Of Course\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\nX-Stream-Protocol-Version: v4\r\n\r\nearly');
      if (head.length > 0) socket.write(head);
      socket.on('data', (chunk: Buffer) => socket.write(chunk.toString().toUpperCase()));
      socket.once('end', () => socket.end());
    },
  });
  await using server = await relaying(backend);
  const caller = raw(server, ['X-Stream-Protocol-Version: v4']);

  const head = await caller.until(/early/);
  caller.socket.write('hello');
  await caller.until(/HELLO/);
  caller.socket.end();
  await once(caller.socket, 'close');
  while (backend.open > 0) await new Promise(setImmediate);

  t.is(head, 'HTTP/1.1 101 Of Course\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\nX-Stream-Protocol-Version: v4\r\n\r\nearly');
  t.deepEqual([backend.requests[0]!.headers['x-stream-protocol-version'], backend.requests[0]!.headers.upgrade], ['v4', 'echo/1']);
});

test('the end of the backend reaches the client after its last byte', async t => {
  const much = 'x'.repeat(4 << 20);
  await using backend = await aBackend(() => {}, {
    upgrade: (_, socket) => {
      socket.write('HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\n');
      socket.end(`${much}end`);
    },
  });
  await using server = await relaying(backend);
  const caller = raw(server);

  caller.socket.write('sent meanwhile');
  await once(caller.socket, 'end');
  caller.socket.end();

  t.true(caller.text.endsWith(`${much}end`));
});

test('an upgrade that is refused is answered by the refusal, and neither connection is kept', async t => {
  await using backend = await aBackend((request, response) =>
    response.writeHead(request.headers['x-ok'] ? 200 : 403, {'content-type': 'text/plain'}).end('no'),
  );
  await using server = await relaying(backend);
  const [refused, ignored] = [raw(server), raw(server, ['X-Ok: 1'])];

  await Promise.all([once(refused.socket, 'end'), once(ignored.socket, 'end')]);
  while (backend.open > 0) await new Promise(setImmediate);
  refused.socket.destroy();
  ignored.socket.destroy();

  t.regex(refused.text, /^HTTP\/1\.1 403 [^]*\r\n\r\n(2\r\n)?no/);
  t.regex(ignored.text, /^HTTP\/1\.1 500 [^]*invalid upgrade response: status code 200/);
});
