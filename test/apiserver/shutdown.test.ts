import https from 'node:https';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/plane.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const ask = (url: string, path: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    https
      .get(`${url}${path}`, {rejectUnauthorized: false, agent: false}, response => {
        let body = '';
        response
          .on('data', (piece: Buffer) => (body += piece.toString()))
          .on('end', () => resolve({status: response.statusCode ?? 0, headers: response.headers, body}));
      })
      .on('error', reject);
  });

/** A plane on a port and on virtual time, and its stop once it has begun. */
const start = async (...args: string[]) => {
  const clock = new VirtualClock();
  const plane = await startPlane({clock, controllers: 'none', apiserverArgs: args});
  const {url} = plane;
  let stopped = false;
  const stop = () => {
    const done = plane.stop().then(() => (stopped = true));
    return {done, hasStopped: () => stopped};
  };
  return {clock, plane, stop, get: (path: string) => ask(url, path)};
};

test('a plane that leaves is not ready at once, goes on for the delay, and then takes nothing new', async t => {
  const {clock, stop, get} = await start('--shutdown-delay-duration=10s');
  t.is((await get('/readyz')).status, 200);
  const {done, hasStopped} = stop();
  await clock.advance(9000);

  t.deepEqual(
    [(await get('/readyz')).status, (await get('/livez')).status, (await get('/healthz')).status, (await get('/version')).status],
    [500, 200, 200, 200],
  );
  t.false(hasStopped());
  await clock.advance(1000);
  await done;
  await t.throwsAsync(get('/version'), {code: 'ECONNREFUSED'});
});

test('on shutdown, new requests are refused while those under way are answered', async t => {
  const {clock, plane, stop, get} = await start('--shutdown-send-retry-after=true');
  const {inFlight} = plane.api.server;
  const underWay = inFlight.enter({verb: 'get', path: '/', query: new URLSearchParams()});
  const {done, hasStopped} = stop();
  await clock.advance(1000);
  const refused = await get('/version');

  t.deepEqual(
    [refused.status, refused.body, refused.headers['retry-after'], refused.headers['connection']],
    [429, 'The apiserver is shutting down, please try again later.\n', '5', 'close'],
  );
  t.is((await get('/livez')).status, 200);
  t.is((await get('/readyz')).status, 500);
  t.false(hasStopped());
  underWay?.[Symbol.dispose]();
  await clock.advance(100);
  await done;
  await t.throwsAsync(get('/version'), {code: 'ECONNREFUSED'});
});

test('watches are ended evenly over their grace', async t => {
  const {clock, plane, stop} = await start('--shutdown-watch-termination-grace-period=10s');
  const {server} = plane.api;
  let open = 0;
  for (let i = 0; i < 20; i++) {
    const {body} = await server.handler({
      method: 'GET',
      url: '/api/v1/namespaces?watch=1',
      headers: {},
      caller: {user: {name: 'admin', groups: ['system:masters']}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    if (body.kind !== 'watch') return t.fail();
    open++;
    body.start({event: () => true, drained: () => Promise.resolve(), end: () => void open--});
  }
  const {done} = stop();
  await clock.advance(2500);
  t.true(open < 20 && open > 10, String(open));
  await clock.advance(5000);
  t.true(open < 10 && open > 0, String(open));
  await clock.advance(2500);
  await done;

  t.is(open, 0);
});
