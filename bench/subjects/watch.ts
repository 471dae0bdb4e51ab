import {startPlane} from '#bench/load/programs.js';
import {watchDelays} from '#bench/load/watch-delays.js';
import {type Row, row} from '#bench/run/row.js';

const watchers = 1000;
const perSecond = 100;

/**
 * The delay of events to a thousand watchers of one resource, each with its own TLS connection, at a hundred writes per
 * second.
 */
export const watchRows = async (): Promise<Row[]> => {
  const plane = await startPlane();
  const {complete, p50Ms, p99Ms, mostMs} = await watchDelays(plane, {namespace: 'watched', watchers, perSecond, seconds: 10});
  await plane.stop();
  return [
    row('watch: p99 from write to watcher', p99Ms, 'ms', {
      note: `${watchers} watchers, ${perSecond} writes/s, median ${p50Ms.toFixed(1)} ms, most ${Math.round(mostMs)} ms, ${complete} watchers got every event; client on the same cores`,
    }),
  ];
};
