import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {isJsonError} from '#src/observe/json-format.js';
import {createLog} from '#src/observe/log.js';
import {logWriter} from '#src/observe/streams.js';

const startEnvironment = (bufferBytes: number) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const written: string[] = [];
  const write = logWriter({
    clock,
    bufferBytes,
    flushMs: 5000,
    out: text => written.push(`out ${text}`),
    err: text => written.push(`err ${text}`),
    signal: stop.signal,
  });
  return {clock, stop, written, write};
};

test('a split log sends errors to one stream and everything else to the other', t => {
  const {write, written} = startEnvironment(0);
  write('I1 fine\n');
  write('E2 broken\n');

  t.deepEqual(written, ['out I1 fine\n', 'err E2 broken\n']);
});

test('lines that are no errors wait until the buffer is full, an error comes, or the time to flush is there', async t => {
  const {write, written, clock} = startEnvironment(20);
  write('I1 a\n');
  t.deepEqual(written, []);
  write('I2 a longer line\n');
  t.deepEqual(written.splice(0), ['out I1 a\nI2 a longer line\n']);
  write('W3 b\n');
  write('E4 c\n');
  t.deepEqual(written.splice(0), ['out W3 b\n', 'err E4 c\n']);
  write('I5 d\n');
  await clock.advance(5000);
  t.deepEqual(written, ['out I5 d\n']);
});

test('pending output is written when the process exits', t => {
  const {write, written, stop} = startEnvironment(1000);
  write('I1 last words\n');
  stop.abort();

  t.deepEqual(written, ['out I1 last words\n']);
});

test('a log in JSON is split by the lines that have no verbosity', t => {
  const lines: string[] = [];
  const log = createLog({clock: new VirtualClock(), program: 'p', format: 'json', write: line => void lines.push(line)});
  log.info({v: 'x'}, 'a "v":0 message');
  log.error({w: 0}, 'a "v":0 failure');
  t.deepEqual(lines.map(isJsonError), [false, true]);
});
