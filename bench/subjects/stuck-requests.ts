import {type Row, row} from '#bench/run/row.js';
import {Child} from '#bench/load/child.js';
import {scratch} from '#bench/load/programs.js';
import type {StuckServer, StuckStatistics} from '#bench/load/stuck-server.js';

const {BENCH_STUCK = '500000', BENCH_STUCK_CONTROLLERS: controllers = ''} = process.env;
const limits = {holdMs: 50, mb: 2048};

const within = (value: number, limit: number, unit: string): string => `${value <= limit ? 'within' : 'BEYOND'} ${limit} ${unit}`;

/**
 * Certificate signing requests that piled up before the start, some of them with certificates that cannot be parsed: a
 * plane with all controllers starts on them, signs those that are to be signed, and deletes the old ones. BENCH_STUCK
 * is their number (500,000), BENCH_STUCK_CONTROLLERS selects controllers as `--controllers` does.
 */
export const stuckRequestRows = async (): Promise<Row[]> => {
  const directory = await scratch();
  const count = Number(BENCH_STUCK);
  const seeding = new Child('stuck-server.js', {directory, count, seed: true} satisfies StuckServer);
  await seeding.answer();
  await seeding.stop();
  const server = new Child('stuck-server.js', {directory, count, controllers} satisfies StuckServer);
  const {startSeconds, seconds, deleted, signed, kept, startHold, hold, maxMb} = await server.answer<StuckStatistics>();
  await server.stop();
  const of = `${count.toLocaleString('en-US')} stuck requests`;
  return [
    row(`started with ${controllers || 'all controllers'} and ${of}`, startSeconds, 's'),
    row(`  deleted of ${of}`, deleted / seconds, '/s', {
      note: `${deleted} deleted and ${signed} signed in ${Math.round(seconds)} s, ${kept} kept`,
    }),
    row('  longest hold of the event loop at the start', startHold.ms, 'ms', {note: `in ${startHold.look}`}),
    row('  longest hold of the event loop after it', hold.ms, 'ms', {note: `${within(hold.ms, limits.holdMs, 'ms')}, in ${hold.look}`}),
    row('  memory', maxMb, 'MB', {note: within(maxMb, limits.mb, 'MB')}),
  ];
};
