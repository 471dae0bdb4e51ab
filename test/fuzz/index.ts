import {fuzz, type FuzzResult} from './run.js';

/**
 * Part of `make fuzz`: sends random requests to a server. FUZZ_REQUESTS (default: a million) is their number, FUZZ_SEED
 * (default 1) the seed, FUZZ_LIMIT the limit of a turn of the event loop in ms, FUZZ_LOOPS=false ends the server's own
 * loops.
 */
const {FUZZ_REQUESTS = '1000000', FUZZ_SEED = '1', FUZZ_LIMIT = '50', FUZZ_LOOPS = 'true'} = process.env;

const startedAt = performance.now();
let shown = 0;
const progress = (done: number, {faults, statuses, longestMs}: FuzzResult): void => {
  for (const fault of faults.slice(shown, shown + 20)) console.log(fault);
  shown = faults.length;
  if (done % 10_000 !== 0) return;
  const rate = Math.round((done * 1000) / (performance.now() - startedAt));
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}:${count}`);
  console.error(
    `${done} requests, ${rate}/s, ${faults.length} faults, longest turn ${longestMs.toFixed(0)} ms, ${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MB, ${counts.join(' ')}`,
  );
};
const result = await fuzz({
  seed: Number(FUZZ_SEED),
  count: Number(FUZZ_REQUESTS),
  mostMs: Number(FUZZ_LIMIT),
  loops: FUZZ_LOOPS !== 'false',
  progress,
});
for (const fault of result.faults.slice(shown)) console.log(fault);
console.log(
  `${FUZZ_REQUESTS} requests, seed ${FUZZ_SEED}: ${result.faults.length} faults, longest turn ${result.longestMs.toFixed(0)} ms, heap ${result.heap.map(bytes => `${(bytes / 2 ** 20).toFixed(0)} MB`).join(' then ')}`,
);
for (const [error, count] of result.unanswered) console.log(`${count} without a response: ${error}`);
process.exit(result.faults.length > 0 ? 1 : 0);
