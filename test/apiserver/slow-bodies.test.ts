import {PassThrough} from 'node:stream';
import test from 'ava';
import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import {incomingBodies} from '#src/apiserver/request/incoming-bodies.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {collectHttp1, UnreadBody} from '#src/serving/request-body.js';
import {aConfigMap, configMaps, settled, startWire} from './wire.js';

/** A request whose body comes in as the test writes it. */
const slowly = (handler: ApiHandler, user = 'slow', method = 'POST', url = configMaps) => {
  const body = new PassThrough();
  const request: ApiRequest = {
    method,
    url,
    headers: {},
    caller: {user: {name: user, groups: ['system:authenticated']}},
    remoteAddress: '127.0.0.1',
    body: new UnreadBody(body, Number.NaN, collectHttp1),
    signal: new AbortController().signal,
  };
  const sent: {answer?: ApiResponse} = {};
  const done = handler(request).then(answer => (sent.answer = answer));
  return {body, sent, done};
};

const other = {user: {name: 'other', groups: ['system:authenticated']}};
const object = (name: string) => JSON.stringify(aConfigMap(name));
const beat = () => new Promise(resolve => void setImmediate(resolve));

test('two hundred bodies that come slowly keep no other writer waiting, and end by the request timeout', async t => {
  const {clock, server, post} = await startWire();
  const slow = Array.from({length: 200}, () => slowly(server.handler));
  for (const {body} of slow) body.write('{"kind":');
  await settled(clock);

  t.deepEqual(server.inFlight.current, {reading: 0, mutating: 0});
  t.is((await post(configMaps, aConfigMap('quick'), other)).status, 201);

  await clock.advance(60_000);
  const answers = await Promise.all(slow.map(({done}) => done));
  t.deepEqual([...new Set(answers.map(({status}) => status))], [504]);
  t.deepEqual([server.inFlight.all, clock.pending], [0, 0]);
  t.true(slow.every(({body}) => body.listenerCount('data') === 0 && body.isPaused()));
});

test('a request whose body has come takes its place in flight then, and is refused where there is none', async t => {
  const {server} = await startWire({maxInFlight: {reading: 1, mutating: 1}});
  const [first, second] = [slowly(server.handler), slowly(server.handler)];
  const taken = server.inFlight.enter({verb: 'create', path: '/', query: new URLSearchParams()})!;
  first.body.end(object('first'));
  const refused = await first.done;
  taken[Symbol.dispose]();
  second.body.end(object('second'));

  t.like(refused, {status: 429, headers: {'Retry-After': '1'}});
  t.is((await second.done).status, 201);
  t.is(server.inFlight.all, 0);
});

test('a request that can be refused without its body does not wait for it', async t => {
  const {server} = await startWire({authorizer: {authorize: ({user}) => ({decision: user.name === 'slow' ? 'deny' : 'allow'})}});
  const answers = [
    slowly(server.handler),
    slowly(server.handler, 'other', 'PUT'),
    slowly(server.handler, 'other', 'POST', '/api/v1/namespaces/default/nothing'),
    slowly(server.handler, 'other', 'PATCH', `${configMaps}/one`),
  ];

  t.deepEqual(
    (await Promise.all(answers.map(({done}) => done))).map(({status}) => status),
    [403, 405, 404, 415],
  );
  t.is(server.inFlight.all, 0);
});

test('a client that disconnects in the middle of a body leaves nothing behind', async t => {
  const meter = new MetricsRegistry();
  const {server} = await startWire({meter});
  const {body, done} = slowly(server.handler);
  body.write('{');
  await beat();
  const [before] = [meter.value('apiserver_incoming_body_bytes')];
  body.destroy();

  t.is((await done).status, 400);
  t.is(before, (16 << 10) + 1);
  t.is(meter.value('apiserver_incoming_body_bytes'), 0);
  t.is(server.inFlight.all, 0);
});

test('beyond the bytes that all bodies may take the user with the most of them is refused', async t => {
  const meter = new MetricsRegistry();
  const bodies = incomingBodies(meter, 1 << 20);
  const refused: string[] = [];
  const place = {[Symbol.dispose]() {}};
  const follow = (user: string, name: string) => {
    const stream = new PassThrough();
    const body = new UnreadBody(stream, Number.NaN, collectHttp1);
    bodies.follow(body, {user, place, enter: () => place});
    body.read(3 << 20).catch((error: Error & {status?: number}) => refused.push(`${name} ${error.status}`));
    return stream;
  };
  const modest = follow('modest', 'modest');
  modest.write(Buffer.alloc(100_000));
  const greedy = Array.from({length: 12}, (_, index) => follow('greedy', `greedy ${index}`));
  for (const body of greedy) {
    body.write(Buffer.alloc(100_000));
    await beat();
  }

  t.deepEqual(refused, ['greedy 0 429', 'greedy 1 429', 'greedy 2 429', 'greedy 3 429'].slice(0, refused.length));
  t.true(refused.length >= 3 && bodies.bytes <= 1 << 20);
  t.is(meter.value('apiserver_incoming_bodies_refused_total'), refused.length);
});
