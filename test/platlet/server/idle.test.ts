import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {closeIdle} from '#src/serving/agent/idle.js';

/** A stream that is limited to eight seconds without bytes. */
const aStream = (idleMs = 8_000) => {
  const clock = new VirtualClock();
  const stream = {clock, bytes: 0, isClosed: false};
  const limit = closeIdle(
    {clock, idleMs},
    () => stream.bytes,
    () => (stream.isClosed = true),
  );
  return {stream, clock, limit};
};

test('a stream without bytes is closed after the limit', async t => {
  const {stream, clock} = aStream();
  await clock.advance(7_900);
  t.false(stream.isClosed);
  await clock.advance(1_200);
  t.true(stream.isClosed);
});

test('a stream in use stays, and so does one without a limit', async t => {
  const {stream, clock, limit} = aStream();
  const other = aStream(0);
  for (let second = 0; second < 40; second += 4) {
    stream.bytes++;
    await clock.advance(4_000);
  }
  await other.clock.advance(100_000_000);
  t.false(stream.isClosed);
  t.false(other.stream.isClosed);

  limit[Symbol.dispose]();
  await clock.advance(100_000);
  t.false(stream.isClosed);
});
