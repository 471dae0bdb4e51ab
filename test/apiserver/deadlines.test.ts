import test from 'ava';
import type {Status} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Deadlines} from '#src/apiserver/filters/deadline.js';
import {RevisionMismatch, StoreTimeout} from '#src/storage/errors.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {aConfigMap, configMaps, startWire} from './wire.js';

/** A server whose authorizer never answers for paths with `slow`. */
const start = () => startWire({authorizer: {authorize: ({path}) => (path.includes('slow') ? new Promise(() => {}) : {decision: 'allow'})}});

for (const [query, afterMs] of [
  ['', 60_000],
  ['?timeout=5s', 5000],
  ['?timeout=0s', 60_000],
  ['?timeout=0', 60_000],
  ['?timeout=-1s', 60_000],
  ['?timeout=', 60_000],
  ['?timeout=2m', 60_000],
  ['?timeout=1.5s', 1500],
] as const) {
  for (const method of ['GET', 'PUT']) {
    test(`${method} with the query '${query}' gives up after ${afterMs} ms`, async t => {
      const {clock, send} = await start();
      let answer: Status | undefined;
      void send(method, `${configMaps}/slow${query}`, method === 'PUT' ? {body: aConfigMap('slow')} : {}).then(
        ({json}) => (answer = json<Status>()),
      );
      await clock.advance(afterMs - 1);
      t.is(answer, undefined);
      await clock.advance(1);

      t.like(answer, {code: 504, reason: 'Timeout', message: 'Timeout: request did not complete within the allotted timeout'});
      t.is(clock.pending, 0);
    });
  }
}

for (const text of ['abc', '5', '1d']) {
  test(`the timeout ${text} is refused before anything else`, async t => {
    const {get} = await start();
    const {status, json} = await get(`${configMaps}/slow?timeout=${text}`);

    t.is(status, 400);
    t.true(json<Status>().message?.startsWith('invalid timeout specified in the request URL'));
  });
}

test('timeoutSeconds bounds a list', async t => {
  const {clock, send} = await start();
  let answer: Status | undefined;
  void send('GET', '/api/v1/namespaces/slow/configmaps?timeoutSeconds=2').then(({json}) => (answer = json<Status>()));
  await clock.advance(2000);

  t.is(answer?.code, 504);
});

test('a finished request leaves no timer behind', async t => {
  const {clock, get} = await start();
  await get(configMaps);

  t.is(clock.pending, 0);
});

test('work that ends in its turn of the event loop sets no timer', async t => {
  const never = () => t.fail();
  let timers = 0;
  class CountingClock extends VirtualClock {
    override schedule(afterMs: number, run: () => void): Disposable {
      timers++;
      return super.schedule(afterMs, run);
    }
  }
  const clock = new CountingClock();
  const deadlines = new Deadlines(clock);
  const failing = deadlines.within(1000, Promise.reject(new Error('refused')), never);

  t.is(await deadlines.within(1000, Promise.resolve('done'), never), 'done');
  await t.throwsAsync(failing, {message: 'refused'});
  await clock.drain();
  t.is(timers, 0);

  const late = t.throwsAsync(deadlines.within(1000, new Promise(() => {}), never), {message: /did not complete/});
  await clock.advance(1000);
  await late;
  t.is(timers, 1);
});

test('requests that outlast their turn share a timer, and each ends at its own deadline', async t => {
  const clock = new VirtualClock();
  const deadlines = new Deadlines(clock);
  const ended: number[] = [];
  const start = (ms: number) =>
    deadlines.within(ms, new Promise(() => {}), () => undefined).catch(() => void ended.push(clock.monotonic() - startedAt));
  const startedAt = clock.monotonic();
  for (const ms of [3000, 1000, 2000, 1000]) void start(ms);
  await clock.drain();
  t.is(clock.pending, 1);
  await clock.advance(500);
  void start(100);
  await clock.advance(5000);

  t.deepEqual(ended, [600, 1000, 1000, 2000, 3000]);
  t.is(clock.pending, 0);
});

test('an answer that comes after its time is let go', async t => {
  const clock = new VirtualClock();
  const late: string[] = [];
  let answer!: (text: string) => void;
  const work = new Promise<string>(resolve => {
    answer = resolve;
  });

  const answered = t.throwsAsync(
    new Deadlines(clock).within(1000, work, text => void late.push(text)),
    {message: /did not complete/},
  );
  await clock.advance(1000);
  await answered;
  answer('here it is');
  await work;

  t.deepEqual(late, ['here it is']);
});

test('a store that does not answer in time is a timeout, without what its servers said', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const logged: unknown[] = [];
  const {get, post} = await startWire({clock, store, failed: error => void logged.push(error)});
  store.get = () => Promise.reject(new StoreTimeout('/etcdserverpb.KV/Range was not answered within 10 s'));
  store.create = () => Promise.reject(new StoreTimeout('the connection broke'));

  for (const {status, json} of [await get(`${configMaps}/a`), await post(configMaps, aConfigMap('a'))]) {
    t.is(status, 504);
    t.like(json<Status>(), {reason: 'Timeout', message: 'Timeout: request did not complete within the allotted timeout'});
  }
  t.is(logged.length, 2);
});

test('a write that loses every race ends: as a conflict after a thousand, and with its request', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const {post, patch, remove} = await startWire({clock, store});
  await post(configMaps, aConfigMap('a'));
  let attempts = 0;
  store.update = store.delete = () => {
    attempts++;
    return Promise.reject(new RevisionMismatch('a is not at its revision'));
  };

  const patched = await patch(`${configMaps}/a`, {data: {a: '1'}});
  t.is(patched.status, 409);
  t.is(
    patched.json<Status>().message,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  );
  t.is(attempts, 1000);
  t.is((await remove(`${configMaps}/a`)).status, 409);

  attempts = 0;
  store.update = async () => {
    attempts++;
    await clock.advance(20_000);
    throw new RevisionMismatch('a is not at its revision');
  };
  t.is((await patch(`${configMaps}/a`, {data: {a: '1'}})).status, 504);
  await clock.advance(120_000);
  t.true(attempts < 10);
});
