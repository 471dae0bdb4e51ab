import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {BatchSink, type BatchOptions} from '#src/apiserver/audit/batch-sink.js';
import {LogFile} from '#src/apiserver/audit/log-file.js';
import {LogSink} from '#src/apiserver/audit/log-sink.js';
import type {AuditEvent} from '#src/apiserver/audit/event.js';
import {union, type AuditSink} from '#src/apiserver/audit/sink.js';
import {truncating} from '#src/apiserver/audit/truncating-sink.js';
import {aConfigMap, configMaps, words} from '#test/apiserver/wire.js';
import {ofStage, startAudited, type AuditOptions, type RecordedEvent} from './environment.js';

/** Passes batches on and records them. */
class Batches implements AuditSink {
  readonly holdsRequest = false;
  readonly batches: RecordedEvent[][] = [];
  /** Ends the sending of a batch. */
  sent: (() => void)[] = [];
  waits = false;

  process(events: readonly AuditEvent[]): boolean | Promise<boolean> {
    this.batches.push(events.map(({json}) => JSON.parse(json.toString()) as RecordedEvent));
    return !this.waits || new Promise(resolve => this.sent.push(() => resolve(true)));
  }

  close(): Promise<void> {
    for (const end of this.sent) end();
    return Promise.resolve();
  }

  get sizes(): number[] {
    return this.batches.map(({length}) => length);
  }
}

const roomy: BatchOptions = {bufferSize: 100, maxBatchSize: 10, maxBatchBytes: Infinity, maxWaitMs: 1000, throttle: undefined};

const startBatched = async (options: Partial<BatchOptions> = {}, others: AuditOptions = {}) => {
  const clock = new VirtualClock();
  const batches = new Batches();
  let batch!: BatchSink;
  const env = await startAudited({
    clock,
    policy: {rules: [{level: 'Metadata', verbs: ['list'], omitStages: ['RequestReceived']}]},
    before: (_, failures) => (batch = new BatchSink(batches, {...roomy, ...options}, {clock, failures})),
    ...others,
  });
  const ask = async (times: number) => {
    for (let i = 0; i < times; i++) await env.get(`${configMaps}?limit=${i + 1}`);
  };
  return {...env, batch, batches, ask};
};

test('a batch is passed on when it is full, and else when its first event has waited', async t => {
  const {ask, batches, clock} = await startBatched();

  await ask(12);
  await clock.drain();
  const atOnce = [...batches.sizes];
  await clock.advance(999);
  const before = batches.sizes.length;
  await clock.advance(1);

  t.deepEqual(atOnce, [10]);
  t.is(before, 1);
  t.deepEqual(batches.sizes, [10, 2]);
  t.deepEqual(
    batches.batches.flat().map(({requestURI}) => Number(/limit=(\d+)/.exec(requestURI)![1])),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
});

test('batches are limited to the rate, with a burst', async t => {
  const {ask, batches, clock} = await startBatched({maxBatchSize: 1, throttle: {qps: 2, burst: 3}});

  await ask(6);
  await clock.drain();
  const atOnce = batches.sizes.length;
  await clock.advance(500);
  const later = batches.sizes.length;
  await clock.advance(1000);

  t.deepEqual([atOnce, later, batches.sizes.length], [3, 4, 6]);
});

test('events beyond the buffer are dropped and counted, and no request waits for them', async t => {
  const {ask, get, batches, batch, metric} = await startBatched({bufferSize: 3, maxBatchSize: 100});

  await ask(5);
  const {status} = await get(configMaps);
  const dropped = metric('error_total', {plugin: 'buffered'});
  await batch.close();

  t.is(status, 200);
  t.is(dropped, 3);
  t.deepEqual(batches.sizes, [3]);
});

test('the bytes of waiting events and of batches on their way are bounded together', async t => {
  const {ask, batches, batch, clock, metric} = await startBatched({maxBatchSize: 1, maxBytes: 2000});
  batches.waits = true;

  await ask(10);
  await clock.drain();
  const taken = batches.sizes.length;
  const dropped = metric('error_total', {plugin: 'buffered'});
  for (const end of batches.sent.splice(0)) end();
  await clock.drain();
  await ask(1);
  await clock.drain();

  t.true(taken > 0 && taken < 6, String(taken));
  t.is(dropped, 10 - taken);
  t.is(batches.sizes.length, taken + 1);
  await batch.close();
});

test('a batch has no more bytes than allowed, unless it is one event', async t => {
  const {ask, batches, batch} = await startBatched({maxBatchBytes: 1000});

  await ask(6);
  await batch.close();

  t.is(batches.batches.flat().length, 6);
  t.true(batches.sizes.length > 2);
  t.true(batches.batches.every(batch => batch.length === 1 || JSON.stringify(batch).length < 1100));
});

test('a sink that closes passes on what it has, and takes nothing more', async t => {
  const {ask, batches, batch, metric} = await startBatched({throttle: {qps: 0.001, burst: 1}, maxBatchSize: 2});

  await ask(7);
  await batch.close();
  await ask(1);

  t.is(batches.batches.flat().length, 7);
  t.is(metric('error_total', {plugin: 'buffered'}), 1);
});

test('an event that is too large loses its objects, and is dropped if that is not enough', async t => {
  const {post, get, log, metric} = await startAudited({
    policy: {rules: [{level: 'RequestResponse', omitStages: ['RequestReceived']}]},
    before: (sink, failures) => truncating(sink, {naming: words, maxEventBytes: 2000, failures}),
  });
  log.lines = [];

  await post(configMaps, aConfigMap('small', {data: {x: 'y'}}));
  await post(configMaps, aConfigMap('large', {data: {x: 'y'.repeat(3000)}}));
  await get(`${configMaps}/none?${'x'.repeat(3000)}`);

  t.deepEqual(
    log.events.map(({objectRef, annotations, requestObject, responseObject}) => [
      objectRef?.['name'],
      annotations?.['audit.plat.io/truncated'],
      Boolean(requestObject),
      Boolean(responseObject),
    ]),
    [
      ['small', undefined, true, true],
      ['large', 'true', false, false],
    ],
  );
  t.true(log.lines.every(line => line.length <= 2000));
  t.is(metric('error_total', {plugin: 'truncate'}), 1);
});

test('an event of level Metadata is not truncated but dropped', async t => {
  const {get, log} = await startAudited({before: (sink, failures) => truncating(sink, {naming: words, maxEventBytes: 1000, failures})});

  await get(`${configMaps}?${'x'.repeat(3000)}`);

  t.deepEqual(log.lines, []);
});

test('in blocking-strict mode a request whose first event is not recorded is refused, and does nothing', async t => {
  const {post, get, log, metric} = await startAudited({mode: 'blocking-strict'});
  log.failure = new Error('ENOSPC: no space left on device');

  const refused = await post(configMaps, aConfigMap('a'));
  log.failure = undefined;

  t.is(refused.status, 500);
  t.is(refused.type, 'text/plain; charset=utf-8');
  t.is(refused.text, `Internal Server Error: "${configMaps}": failed to store audit event\n`);
  t.is(metric('requests_rejected_total'), 1);
  t.is(metric('error_total', {plugin: 'log'}), 1);
  t.is((await get(`${configMaps}/a`)).status, 404);
});

test('in blocking mode a request goes on when its events cannot be recorded', async t => {
  const {post, log, metric} = await startAudited({mode: 'blocking'});
  log.failure = new Error('ENOSPC: no space left on device');

  t.is((await post(configMaps, aConfigMap('a'))).status, 201);
  t.is(metric('error_total', {plugin: 'log'}), 2);
  t.is(metric('requests_rejected_total'), 0);
});

test('a full disk refuses requests in blocking-strict mode', async t => {
  const clock = new VirtualClock();
  const file = await LogFile.open({
    path: '/dev/full',
    maxBytes: 1000,
    retention: {maxAgeDays: 0, maxFiles: 0, compress: false},
    clock,
    log: noLog,
  });
  t.teardown(() => file.close()); // The server is not stopped.
  let isFull = false;
  const {post} = await startAudited({
    clock,
    before: (_, failures) => {
      const full = new LogSink(file, 'json', failures);
      return {holdsRequest: true, process: events => !isFull || full.process(events), close: () => full.close()};
    },
  });
  isFull = true;

  t.is((await post(configMaps, aConfigMap('a'))).status, 500);
});

test('a response waits for its events in blocking mode', async t => {
  const taken: (() => void)[] = [];
  const {get, clock} = await startAudited({
    policy: {rules: [{level: 'Metadata', verbs: ['list']}]},
    before: () => ({
      holdsRequest: false,
      process: () => new Promise(resolve => taken.push(() => resolve(true))),
      close: () => Promise.resolve(),
    }),
  });
  let isAnswered = false;

  const answered = get(configMaps).then(() => (isAnswered = true));
  await clock.drain();
  const before = isAnswered;
  t.is(taken.length, 2);
  for (const take of taken) take();
  await answered;

  t.false(before);
});

test('several sinks get every event, and a request goes on only if all agree', async t => {
  const other = new Batches();
  const {get, log} = await startAudited({before: sink => union([sink, other])});

  await get(configMaps);

  t.deepEqual(
    other.batches
      .flat()
      .slice(-2)
      .map(({stage}) => stage),
    ['RequestReceived', 'ResponseComplete'],
  );
  t.is(ofStage(log).length, 1);

  const refusing = await startAudited({
    policy: {rules: [{level: 'Metadata', verbs: ['list']}]},
    before: sink => union([sink, {...other, holdsRequest: true, process: () => false, close: () => Promise.resolve()}]),
  });
  t.is((await refusing.get(configMaps)).status, 500);
});
