import test from 'ava';
import {mkdtemp} from 'node:fs/promises';
import http from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Writable} from 'node:stream';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {systemClock, type Clock} from '#src/base/clock.js';
import {seededRandom} from '#src/base/random.js';
import {noLog} from '#src/base/log.js';
import {openAdministration} from '#src/serving/administration/handler.js';
import {configzRoute} from '#src/serving/administration/plain.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {Frames, Outbox, type OutboxLimits, outboxDefaults} from '#src/serving/outbox.js';
import {listenOnSocket} from '#src/serving/socket-listener.js';
import {anEvent} from './server.js';

/** A consumer that notes each write, and takes no more while `stalled`. */
class Consumer extends Writable {
  readonly writes: string[] = [];
  stalled = false;
  #resume = () => {};

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.writes.push(chunk.toString());
    if (this.stalled) this.#resume = done;
    else done();
  }

  catchUp(): void {
    this.stalled = false;
    this.#resume();
  }
}

const aBox = (clock: VirtualClock, limits: Partial<OutboxLimits> = {}) => {
  const frames = new Frames(clock, {...outboxDefaults, ...limits});
  const open = () => {
    const consumer = new Consumer({highWaterMark: 1});
    return {consumer, outbox: new Outbox(consumer, frames)};
  };
  return {frames, open};
};

const line = (number: number): string => `{"type":"ADDED","object":{"n":${number}}}\n`;
const event = (number: number) => anEvent('ADDED', {n: number});

test('with few watchers events leave in the turn they came in, together', async t => {
  const clock = new VirtualClock();
  const {consumer, outbox} = aBox(clock).open();

  outbox.event(event(1));
  outbox.event(event(2));
  t.deepEqual(consumer.writes, []);
  await clock.drain();

  t.deepEqual(consumer.writes, [line(1) + line(2)]);
});

test('with few watchers the first event of a turn leaves before promises go on, and later ones leave together', async t => {
  const clock = new VirtualClock();
  const {consumer, outbox} = aBox(clock).open();

  for (let turn = 0; turn < 6; turn += 3) {
    consumer.writes.length = 0;
    outbox.event(event(turn));
    await Promise.resolve();
    t.deepEqual(consumer.writes, [line(turn)]);
    outbox.event(event(turn + 1));
    await Promise.resolve();
    outbox.event(event(turn + 2));
    t.deepEqual(consumer.writes, [line(turn)]);
    await clock.drain();
    t.deepEqual(consumer.writes, [line(turn), line(turn + 1) + line(turn + 2)]);
  }
});

test('the first event of a turn that more than a few watchers receive leaves at its end', async t => {
  const clock = new VirtualClock();
  const {open} = aBox(clock);
  const boxes = [1, 2, 3, 4, 5].map(open);
  const written = () => boxes.flatMap(({consumer}) => consumer.writes).length;

  for (const {outbox} of boxes) outbox.event(event(1));
  await Promise.resolve();
  t.is(written(), 0);
  await clock.drain();
  t.is(written(), 5);

  for (const {outbox} of boxes.slice(1)) outbox.event(event(2));
  await Promise.resolve();
  t.is(written(), 9);
});

test('bytes for a watcher that is disconnected count no longer as waiting', async t => {
  const clock = new VirtualClock();
  const {frames} = aBox(clock, {maxBytes: 200});
  const consumer = new Consumer({highWaterMark: 1});
  const waits: number[] = [];
  const outbox = new Outbox(consumer, frames, {waits: bytes => void waits.push(bytes), grows: bytes => void waits.push(bytes)});
  consumer.stalled = true;
  outbox.event(event(1));
  await clock.drain();
  while (outbox.event(event(2)));

  t.is(frames.cutOff, 1);
  t.deepEqual([waits.at(0), waits.at(-1)], [line(1).length, line(1).length]);
  t.true(Math.max(...waits) > 100);
});

test('with many watchers the first event leaves at once and the next wait for their frame', async t => {
  const clock = new VirtualClock();
  const box = aBox(clock, {fewWatchers: 1});
  const all = [box.open(), box.open()];
  const emit = (number: number) => all.forEach(({outbox}) => outbox.event(event(number)));

  emit(1);
  await clock.drain();
  emit(2);
  await clock.advance(0.4);
  emit(3);
  await clock.advance(0.5);
  t.deepEqual(
    all.map(({consumer}) => consumer.writes),
    [[line(1)], [line(1)]],
  );
  await clock.advance(0.1);

  t.deepEqual(all[1]!.consumer.writes, [line(1), line(2) + line(3)]);
});

test('frames last as long as writing them takes, and at most 50 ms', async t => {
  const clock = new VirtualClock();
  let spent = 0;
  const busy: Clock = Object.assign(Object.create(clock) as Clock, {
    monotonic: () => clock.monotonic() + spent,
    schedule: (ms: number, run: () => void) => clock.schedule(ms, run),
  });
  const consumer = new Consumer();
  const outbox = new Outbox(consumer, new Frames(busy, {...outboxDefaults, fewWatchers: 0}));
  /** How long the events of forty frames wait, where writing each takes so long: the last of these times. */
  const waitOf = async (writingMs: number): Promise<number> => {
    consumer.write = () => ((spent += writingMs), true);
    let waited = 0;
    for (let frame = 0; frame < 40; frame++) {
      const before = spent;
      const isWritten = () => spent !== before;
      outbox.event(event(frame));
      await clock.drain();
      for (waited = 0; !isWritten(); waited++) await clock.advance(1);
    }
    return waited;
  };

  t.is(await waitOf(30), 30);
  t.is(await waitOf(200), 50);
  t.is(await waitOf(0.2), 1);
});

test('an end waits for the events before it', async t => {
  const clock = new VirtualClock();
  const {consumer, outbox} = aBox(clock).open();
  consumer.stalled = true;
  outbox.event(event(1));
  await clock.drain();
  outbox.event(event(2));
  outbox.end();
  t.false(outbox.event(event(3)));
  await clock.drain();
  t.false(consumer.writableEnded);
  consumer.catchUp();
  await clock.drain();

  t.deepEqual(consumer.writes, [line(1), line(2)]);
  t.true(consumer.writableFinished);
});

test('a consumer that falls behind gets backpressure, and is disconnected after an event when it stays behind', async t => {
  const clock = new VirtualClock();
  const box = aBox(clock, {backpressureBytes: 100, maxBytes: 200, closeTimeoutMs: 1000});
  const {consumer, outbox} = box.open();
  consumer.stalled = true;
  outbox.event(event(0));
  await clock.drain();

  const answers = [1, 2, 3, 4].map(number => outbox.event(event(number)));
  const drained = outbox.drained();
  t.deepEqual(answers, [true, true, false, false]);
  outbox.event(event(5));
  outbox.event(event(6));
  await drained;
  t.is(box.frames.cutOff, 1);
  await clock.advance(1000);

  t.true(consumer.destroyed);
  t.deepEqual(consumer.writes, [line(0)]);
  t.is(box.frames.watchers, 0);
});

test('waiting for a consumer ends when it has caught up', async t => {
  const clock = new VirtualClock();
  const {consumer, outbox} = aBox(clock, {backpressureBytes: 50}).open();
  consumer.stalled = true;
  outbox.event(event(1));
  await clock.drain();
  outbox.event(event(2));
  t.false(outbox.event(event(3)));
  let isDrained = false;
  const waiting = outbox.drained().then(() => {
    isDrained = true;
  });
  await clock.drain();
  t.false(isDrained);
  consumer.catchUp();
  await waiting;

  t.deepEqual(consumer.writes, [line(1), line(2) + line(3)]);
});

test('a debug socket serves every process that can open it', async t => {
  const path = join(await mkdtemp(join(tmpdir(), 'plat-socket-')), 'debug.sock');
  const handler = openAdministration([configzRoute(() => ({a: 1}))], error => noLog.error(String(error)));
  await using _ = await listenOnSocket(path, createHttpServer(handler, {clock: systemClock, random: seededRandom(1)}));

  const text = await new Promise<string>((resolve, reject) => {
    http
      .get({socketPath: path, path: '/configz', agent: false}, response => response.setEncoding('utf8').once('data', resolve))
      .on('error', reject);
  });

  t.is(text, '{"a":1}\n');
  await t.throwsAsync(listenOnSocket('/nowhere/x.sock', createHttpServer(handler, {clock: systemClock, random: seededRandom(1)})), {
    message: /^--debug-socket-path: cannot listen on \/nowhere\/x\.sock: /,
  });
});
