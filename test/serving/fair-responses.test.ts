import test from 'ava';
import {Writable} from 'node:stream';
import {Deliveries} from '#src/serving/deliveries.js';
import {sendBytes} from '#src/serving/pages.js';
import {VirtualClock} from '#src/base/virtual-clock.js';

const slice = 64 << 10;

test('the slices of one user’s many responses and of another’s single one are sent in turns', async t => {
  const clock = new VirtualClock();
  let now = 0;
  const deliveries = new Deliveries(Object.assign(clock, {monotonic: () => now}));
  const written: string[] = [];
  const send = async (flow: string, slices: number): Promise<void> => {
    const outlet = new Writable({
      write(_chunk, _encoding, done) {
        written.push(flow);
        now += 2; // Encryption takes time.
        setImmediate(done);
      },
    });
    await sendBytes(Buffer.alloc(slices * slice), outlet, deliveries.send(outlet, {endsAt: Infinity, flow, [Symbol.dispose]() {}}));
  };

  await Promise.all([...Array.from({length: 20}, () => send('greedy', 4)), send('modest', 4)]);

  const last = written.lastIndexOf('modest');
  t.is(written.length, 84);
  // Of the first round one slice was sent at once; then each slice of the one comes after at most two of the others.
  t.true(last <= 12, written.slice(0, last + 1).join(' '));
});
