import test from 'ava';
import {aLevel, aSchema, aUser, queuing, startFair} from './environment.js';
import {admin, aConfigMap, configMaps, settled} from '#test/apiserver/wire.js';

const jane = aUser('jane');
const [flowSchemaUid, levelUid] = ['X-Kubernetes-PF-FlowSchema-UID', 'X-Kubernetes-PF-PriorityLevel-UID'];

/** Of ten seats the level has one, and cannot borrow. */
const narrow = (limitResponse: ReturnType<typeof queuing> = queuing(1, 1, 1)) =>
  aLevel('narrow', {nominalConcurrencyShares: 5, limitResponse, borrowingLimitPercent: 0});
const rest = aLevel('rest', {nominalConcurrencyShares: 40});
const toNarrow = aSchema('to-narrow', 'narrow', 500);

test('a request above the limit waits in a queue, and beyond the queue is rejected with 429, Retry-After and the UIDs of schema and level', async t => {
  const {get, slow, clock, levels, schemas, meter, stop} = await startFair(10, {levels: [narrow(), rest], schemas: [toNarrow]});
  const first = get('/slow/first', {user: jane});
  const second = get('/slow/second', {user: jane});
  await settled(clock);
  const third = await get('/slow/third', {user: jane});

  t.deepEqual(slow.started, ['first']);
  t.deepEqual(
    [third.status, third.text, third.type, third.header('Retry-After')],
    [429, 'Too many requests, please try again later.\n', 'text/plain; charset=utf-8', '1'],
  );
  slow.release();
  await settled(clock);
  t.deepEqual(slow.started, ['first', 'second']);
  slow.release();
  const uids = [(await schemas.get('to-narrow')).metadata?.uid, (await levels.get('narrow')).metadata?.uid];
  for (const response of [await first, await second, third])
    t.deepEqual([response.header(flowSchemaUid), response.header(levelUid)], uids as [string, string]);
  const labels = {priority_level: 'narrow', flow_schema: 'to-narrow'};
  t.is(meter.value('apiserver_flowcontrol_dispatched_requests_total', labels), 2);
  t.is(meter.value('apiserver_flowcontrol_rejected_requests_total', {...labels, reason: 'queue-full'}), 1);
  t.is(meter.value('apiserver_flowcontrol_request_wait_duration_seconds', {...labels, execute: 'true'}), 2);
  t.is(meter.value('apiserver_flowcontrol_request_wait_duration_seconds', {...labels, execute: 'false'}), 1);
  t.is(meter.value('apiserver_flowcontrol_request_execution_seconds', {...labels, type: 'regular'}), 2);
  t.is(meter.value('apiserver_flowcontrol_current_executing_seats', labels), 0);
  stop();
});

test('a level that rejects lets nothing wait', async t => {
  const {get, slow, clock, meter, stop} = await startFair(10, {levels: [narrow({type: 'Reject'}), rest], schemas: [toNarrow]});
  const first = get('/slow/first', {user: jane});
  await settled(clock);

  t.is((await get('/slow/second', {user: jane})).status, 429);
  t.is(
    meter.value('apiserver_flowcontrol_rejected_requests_total', {
      priority_level: 'narrow',
      flow_schema: 'to-narrow',
      reason: 'concurrency-limit',
    }),
    1,
  );
  slow.release();
  t.is((await first).status, 200);
  stop();
});

test('a request waits a quarter of its time limit', async t => {
  const {get, slow, clock, meter, stop} = await startFair(10, {levels: [narrow(queuing(1, 1, 10)), rest], schemas: [toNarrow]});
  const first = get('/slow/first', {user: jane});
  const short = get('/slow/short?timeout=20s', {user: jane});
  const usual = get('/slow/usual', {user: jane});
  const ends: string[] = [];
  void short.then(({status}) => ends.push(`short ${status}`));
  void usual.then(({status}) => ends.push(`usual ${status}`));

  await clock.advance(4999);
  t.deepEqual(ends, []);
  await clock.advance(1);
  t.deepEqual(ends, ['short 429']);
  await clock.advance(10_000);
  t.deepEqual(ends, ['short 429', 'usual 429']);
  t.is(
    meter.value('apiserver_flowcontrol_rejected_requests_total', {priority_level: 'narrow', flow_schema: 'to-narrow', reason: 'time-out'}),
    2,
  );
  slow.release();
  await first;
  stop();
});

test('a client that disconnects leaves its queue', async t => {
  const {get, slow, clock, server, level, stop} = await startFair(10, {levels: [narrow(), rest], schemas: [toNarrow]});
  const first = get('/slow/first', {user: jane});
  const leaving = new AbortController();
  const left = server.handler({
    method: 'GET',
    url: '/slow/left',
    headers: {},
    caller: {user: jane},
    remoteAddress: '127.0.0.1',
    signal: leaving.signal,
  });
  await settled(clock);
  t.is(level('narrow').queues.waiting, 1);
  leaving.abort();

  t.is((await left).status, 429);
  t.deepEqual([level('narrow').queues.waiting, slow.started], [0, ['first']]);
  slow.release();
  await first;
  stop();
});

test('masters, and the health checks of all users, are exempt', async t => {
  const {get, slow, clock, level, stop} = await startFair(1, {levels: [], schemas: []});
  const requests = Array.from({length: 20}, () => get('/slow/any', {user: admin}));
  await settled(clock);

  t.is(slow.started.length, 20);
  t.is(level('exempt').queues.executing, 20);
  slow.release(20);
  await Promise.all(requests);
  stop();
});

test('a change of a level or a schema is in force when its response is sent', async t => {
  const {get, slow, clock, levels, schemas, level, hasLevel, stop} = await startFair(10, {levels: [narrow(), rest], schemas: [toNarrow]});
  t.deepEqual(level('narrow').meters.limits, {nominal: 1, lower: 1, upper: 1, target: 1, current: 1});
  const all = [get('/slow/first', {user: jane}), get('/slow/second', {user: jane})];
  await settled(clock);
  t.is(slow.started.length, 1);

  const found = await levels.get('narrow');
  await levels.update({...found, spec: aLevel('narrow', {nominalConcurrencyShares: 45, limitResponse: queuing(1, 1, 1)}).spec!});
  await settled(clock);
  t.is(slow.started.length, 2, 'the waiting request is executed');

  await schemas.delete('to-narrow');
  all.push(get('/slow/third', {user: jane}));
  await settled(clock);
  t.deepEqual([level('narrow').queues.executing, level('catch-all').queues.executing], [2, 1]);

  await levels.delete('narrow');
  await settled(clock);
  t.true(level('narrow').isQuiescing, 'its requests are still executed');
  slow.release(3);
  await Promise.all(all);
  await settled(clock);
  t.false(hasLevel('narrow'));
  stop();
});

test('a request whose body has not come has no seat', async t => {
  const {post, level, clock, server, stop} = await startFair(10, {levels: [narrow(), rest], schemas: [toNarrow]});
  let observer: {started(stop: (error: Error) => void): void; ended(isWhole: boolean): unknown} | undefined;
  let complete: (() => void) | undefined;
  const slowly = server.handler({
    method: 'POST',
    url: configMaps,
    headers: {},
    caller: {user: jane},
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
    body: {
      kind: 'bytes',
      observe: reading => void (observer = reading),
      read: () =>
        new Promise((resolve, reject) => {
          observer!.started(reject);
          complete = () =>
            void Promise.resolve(observer!.ended(true)).then(refusal =>
              refusal instanceof Error ? reject(refusal) : resolve(Buffer.from(JSON.stringify(aConfigMap('slow')))),
            );
        }),
    },
  });
  await settled(clock);
  t.deepEqual([level('narrow').queues.executing, level('narrow').queues.waiting], [0, 0]);
  t.is((await post(configMaps, aConfigMap('quick'), {user: jane})).status, 201);

  complete!();
  t.is((await slowly).status, 201);
  t.is(level('narrow').queues.totals.dispatched, 2);
  stop();
});

test('a watch occupies seats until its initial state was sent', async t => {
  const {watch, level, clock, server, stop} = await startFair(10, {levels: [narrow({type: 'Reject'}), rest], schemas: [toNarrow]});
  using watching = await watch(`${configMaps}?watch=1`, {user: jane});
  await settled(clock);
  t.false(watching.ended);
  t.is(level('narrow').queues.executing, 0);

  const leaving = new AbortController();
  const response = await server.handler({
    method: 'GET',
    url: `${configMaps}?watch=1`,
    headers: {},
    caller: {user: jane},
    remoteAddress: '127.0.0.1',
    signal: leaving.signal,
  });
  t.is(response.body.kind, 'watch');
  t.is(level('narrow').queues.executing, 1, 'nobody has read it');
  leaving.abort();
  t.is(level('narrow').queues.executing, 0);
  stop();
});
