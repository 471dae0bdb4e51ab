import test from 'ava';
import {once} from 'node:events';
import http2 from 'node:http2';
import tls from 'node:tls';
import {gunzipSync} from 'node:zlib';
import type {ApiRequest} from '#src/api/request.js';
import {StatusError} from '#src/api/status.js';
import {aPair} from './credentials.js';
import {answering, ask1, ask2, bothVersions, json, serve} from './server.js';

for (const [version, ask] of bothVersions) {
  test(`${version}: a request reaches the handler as it was sent, and the answer comes back whole`, async t => {
    let seen: ApiRequest | undefined;
    await using server = await serve(
      answering(async request => {
        seen = request;
        const {body} = request;
        return json({got: body?.kind === 'bytes' ? (await body.read(100)).toString() : null}, 201, {
          'Audit-Id': 'a',
          Warning: ['299 - "one"', '299 - "zwölf"'],
        });
      }),
    );

    const answer = await ask(server, {
      method: 'POST',
      path: '/api/v1/namespaces/a%2Fb/pods?limit=1&limit=2',
      headers: {'impersonate-group': ['a,b', 'c'], 'user-agent': 'tester', 'content-type': 'application/json'},
      body: '{"x":"ü"}',
    });

    t.is(answer.status, 201);
    t.is(answer.headers['audit-id'], 'a');
    t.is(answer.headers['content-type'], 'application/json');
    t.truthy(answer.headers['date']);
    t.is(Buffer.from(String(answer.headers['warning']), 'latin1').toString(), '299 - "one", 299 - "zwölf"');
    t.is(answer.headers['content-length'], String(answer.body.length));
    t.deepEqual(JSON.parse(answer.body.toString()), {got: '{"x":"ü"}'});
    t.is(seen!.method, 'POST');
    t.is(seen!.url, '/api/v1/namespaces/a%2Fb/pods?limit=1&limit=2');
    t.is(seen!.remoteAddress, '127.0.0.1');
    t.deepEqual(seen!.headers['impersonate-group'], ['a,b', 'c']);
    t.is(seen!.headers['user-agent'], 'tester');
    t.is(seen!.headers['host'], `127.0.0.1:${server.port}`);
  });

  test(`${version}: the certificates of the caller are the same object for every request of a connection`, async t => {
    const seen: ApiRequest[] = [];
    await using server = await serve(answering(request => (seen.push(request), json({}))));
    const pair = await aPair(server.authority, {commonName: 'jane', organizations: ['dev']}, 'client auth');

    await ask(server, pair);
    await ask(server);

    const [first, second] = seen.map(({caller}) => ('credentials' in caller ? caller.credentials : undefined));
    t.is(first!.certificates.length, 2);
    t.true(first!.certificates[0]!.toString('latin1').includes('jane'));
    t.is(first!.connection, first!.connection);
    t.deepEqual(second!.certificates, []);
    t.not(first!.connection, second!.connection);
  });

  test(`${version}: a body above the limit is refused with the reason, whether its length was announced or not`, async t => {
    await using server = await serve(
      answering(async request => {
        try {
          if (request.body?.kind === 'bytes') await request.body.read(1000);
          return json({});
        } catch (error) {
          return json((error as StatusError).status, (error as StatusError).code);
        }
      }),
    );
    const body = Buffer.alloc(3_000_000, 'x');

    const announced = await ask(server, {method: 'POST', body, headers: {'content-length': String(body.length)}});
    const unannounced = await ask(server, {
      method: 'POST',
      body,
      ...(version === 'HTTP/1.1' ? {headers: {'transfer-encoding': 'chunked'}} : {}),
    });

    for (const {status, body: refusal} of [announced, unannounced]) {
      t.is(status, 413);
      t.is(JSON.parse(refusal.toString()).message, 'Request entity too large: limit is 1000');
    }
  });

  test(`${version}: large bodies are compressed for clients that accept it`, async t => {
    const big = {text: 'x'.repeat(200_000)};
    await using server = await serve(answering(({url}) => json(url === '/big' ? big : {small: true})));

    const packed = await ask(server, {path: '/big', headers: {'accept-encoding': 'br, gzip;q=0.5'}});
    const refused = await ask(server, {path: '/big', headers: {'accept-encoding': 'gzip;q=0'}});
    const small = await ask(server, {path: '/small', headers: {'accept-encoding': 'gzip'}});

    t.is(packed.headers['content-encoding'], 'gzip');
    t.is(packed.headers['vary'], 'Accept-Encoding');
    t.deepEqual(JSON.parse(gunzipSync(packed.body).toString()), big);
    t.is(refused.headers['content-encoding'], undefined);
    t.deepEqual(JSON.parse(refused.body.toString()), big);
    t.is(small.headers['content-encoding'], undefined);
  });

  test(`${version}: HEAD answers with the headers of GET and no body`, async t => {
    await using server = await serve(answering(() => json({a: 1})));

    const answer = await ask(server, {method: 'HEAD'});

    t.is(answer.status, 200);
    t.is(answer.headers['content-length'], '7');
    t.is(answer.body.length, 0);
  });

  test(`${version}: the signal aborts when the caller goes away, and not before`, async t => {
    let arrive: (request: ApiRequest) => void;
    const arrived = new Promise<ApiRequest>(resolve => {
      arrive = resolve;
    });
    await using server = await serve(answering(request => (arrive(request), new Promise(() => {}))));
    const requested = ask(server).catch(() => {});

    const {signal} = await arrived;
    t.false(signal.aborted);
    const aborted = new Promise(resolve => signal.addEventListener('abort', resolve));
    void server.listener.close();
    await aborted;

    t.is(signal.reason.message, 'the caller went away');
    await requested;
  });

  test(`${version}: a handler that breaks its promise becomes an internal error`, async t => {
    await using server = await serve(() => Promise.reject(new Error('boom')));

    const answer = await ask(server);

    t.is(answer.status, 500);
    t.is(JSON.parse(answer.body.toString()).message, 'Internal error occurred: boom');
    t.is(server.faults.length, 1);
  });

  test(`${version}: a status that cannot be sent becomes 500, and the connection stays`, async t => {
    let status = 1000;
    await using server = await serve(answering(() => ({...json({code: status}), status})));

    for (status of [1000, 99, 0, 150, 2 ** 31 - 1]) {
      const answer = await ask(server);
      t.deepEqual([answer.status, answer.body.toString()], [500, `{"code":${status}}`]);
    }
  });

  test(`${version}: transport security and origins are answered as configured`, async t => {
    await using server = await serve(
      answering(() => json({})),
      {http: {hsts: ['max-age=1', 'includeSubDomains'], corsOrigins: [/^https:\/\/good\.example$/]}},
    );

    const plain = await ask(server);
    const good = await ask(server, {headers: {origin: 'https://good.example'}});
    const preflight = await ask(server, {method: 'OPTIONS', headers: {origin: 'https://good.example'}});
    const bad = await ask(server, {headers: {origin: 'https://good.example.evil'}});

    t.is(plain.headers['strict-transport-security'], 'max-age=1; includeSubDomains');
    t.is(good.headers['access-control-allow-origin'], 'https://good.example');
    t.is(preflight.status, 204);
    t.is(preflight.headers['access-control-allow-methods'], 'POST, GET, OPTIONS, PUT, DELETE, PATCH');
    t.is(bad.headers['access-control-allow-origin'], undefined);
  });
}

test('a request to upgrade to an unknown protocol is answered without upgrading', async t => {
  await using server = await serve(answering(({upgradable}) => json({upgradable})));

  for (const upgrade of ['SPDY/3.1', 'h2c', 'websocket']) {
    const answer = await ask1(server, {path: '/api/v1/pods', headers: {connection: 'upgrade', upgrade}});

    t.deepEqual([answer.status, answer.body.toString()], [200, '{"upgradable":true}'], upgrade);
  }
});

test('the body of a request to upgrade the connection cannot be read', async t => {
  await using server = await serve(
    answering(async ({body}) => json(await (body?.kind === 'bytes' ? body.read(10).catch((error: Error) => error.message) : 'none'))),
  );

  const answer = await ask1(server, {method: 'POST', headers: {connection: 'upgrade', upgrade: 'SPDY/3.1'}, body: 'x'});

  t.is(answer.body.toString(), '"a request to upgrade the connection cannot have a body"');
});

test('an answer in another protocol is refused where the connection cannot be taken, and let go', async t => {
  let dropped = 0;
  await using server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take() {}, drop: () => void dropped++}})),
  );

  await t.throwsAsync(ask1(server));
  await t.throwsAsync(ask2(server));

  t.is(dropped, 2);
});

test('with a chance of one every HTTP/2 answer is followed by a GOAWAY', async t => {
  await using server = await serve(
    answering(() => json({})),
    {http: {goawayChance: 1}},
  );

  const answer = await ask2(server);

  t.is(answer.status, 200);
});

test('over HTTP/2 too an answer may end its connection, and answers under way on it are given', async t => {
  let release = (): void => {};
  const isReleased = new Promise<void>(resolve => {
    release = resolve;
  });
  await using server = await serve(
    answering(async ({url}) => {
      if (url === '/slow') await isReleased;
      return json({}, 200, url === '/last' ? {Connection: 'close'} : {});
    }),
  );
  const session = http2.connect(server.url, {ca: server.ca});
  const ends = [once(session, 'goaway'), once(session, 'close')];
  const slow = session.request({':path': '/slow'});
  const [last] = (await once(session.request({':path': '/last'}).resume(), 'response')) as [http2.IncomingHttpHeaders];
  await ends[0];
  release();
  const [late] = (await once(slow.resume(), 'response')) as [http2.IncomingHttpHeaders & {':status': number}];
  await ends[1];

  t.is(last['connection'], undefined);
  t.is(late[':status'], 200);
});

test('a body is made once, compressed or not', async t => {
  let made = 0;
  await using server = await serve(
    answering(({url}) => ({
      status: 200,
      headers: {},
      body: {
        kind: 'object',
        contentType: 'text/plain',
        object: () => ({}),
        bytes: () => (made++, Buffer.alloc(url === '/big' ? 200_000 : 10, 'x')),
      },
    })),
  );
  for (const [path, encoding] of [
    ['/big', 'gzip'],
    ['/big', 'identity'],
    ['/small', 'gzip'],
  ] as const) {
    made = 0;
    await ask1(server, {path, headers: {'accept-encoding': encoding}});
    t.is(made, 1, `${path} ${encoding}`);
  }
});

test('a method that HTTP does not name reaches the handler like any other', async t => {
  await using server = await serve(answering(({method, url, headers}) => json({method, url, custom: headers['x-custom']}, 405)));
  const answer = await ask1(server, {method: 'FROB', path: '/api/v1/pods?a=b', headers: {'X-Custom': 'é '}});

  t.is(answer.status, 405);
  t.deepEqual(JSON.parse(answer.body.toString()), {method: 'FROB', url: '/api/v1/pods?a=b', custom: 'é'});
  t.is(answer.headers['connection'], 'close');
});

for (const text of ['FR(B / HTTP/1.1\r\nHost: a\r\n\r\n', 'FROB / HTTP/1.1\r\nHost a\r\n\r\n', 'FROB /\r\n\r\n']) {
  test(`invalid requests are refused in plain text: ${JSON.stringify(text)}`, async t => {
    await using server = await serve(answering(() => json({})));
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['http/1.1']}, () =>
      socket.write(text),
    );
    const chunks: Buffer[] = [];
    await new Promise(resolve =>
      socket
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .once('close', resolve)
        .on('error', () => {}),
    );

    t.is(
      Buffer.concat(chunks).toString(),
      'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request',
    );
  });
}
