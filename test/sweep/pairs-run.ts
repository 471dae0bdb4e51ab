import {seededRandom} from '#src/base/random.js';
import {comparePair, pairsOf, startPairs, type PairFinding} from './pairs.js';

/**
 * The last part of `make fuzz`: fills a list of each of two objects that the scheduler, a controller or a plugin
 * compares, for a sample of all pairs of lists, in a whole plane, and fails if one blocks the event loop too long.
 * FUZZ_PAIRS (default 300), FUZZ_SEED (default 1) and FUZZ_ONLY (a regular expression for `path field × path field`)
 * select pairs; FUZZ_PAIR_BYTES is the size of each list, FUZZ_PAIR_LIMIT the limit in ms.
 */
const {FUZZ_PAIRS = '300', FUZZ_SEED = '1', FUZZ_ONLY = '', FUZZ_PAIR_BYTES = '400000', FUZZ_PAIR_LIMIT = '200'} = process.env;

await using server = await startPairs();
const only = new RegExp(FUZZ_ONLY);
const random = seededRandom(Number(FUZZ_SEED));
const textOf = (sides: readonly {readonly target: {readonly label: string}; readonly collection: {readonly path: readonly unknown[]}}[]) =>
  sides.map(({target, collection}) => `${target.label} ${JSON.stringify(collection.path)}`).join(' × ');
const pairs = [...pairsOf(server)]
  .filter(sides => only.test(textOf(sides)))
  .map(sides => ({sides, at: random.float()}))
  .sort((a, b) => a.at - b.at);
const findings: PairFinding[] = [];
const lineOf = ({label, longestMs}: PairFinding): string => `${longestMs.toFixed(0).padStart(7)} ms  ${label}`;
// Most lists are not valid when they are filled: they are passed over.
for (const {sides} of pairs) {
  if (findings.length >= Number(FUZZ_PAIRS)) break;
  const finding = await comparePair(server, sides, Number(FUZZ_PAIR_BYTES));
  if (!finding) continue;
  findings.push(finding);
  if (finding.longestMs > Number(FUZZ_PAIR_LIMIT)) console.error(lineOf(finding));
}
const sorted = findings.toSorted((a, b) => b.longestMs - a.longestMs);
for (const finding of sorted.slice(0, 20)) console.log(lineOf(finding));
const over = sorted.filter(({longestMs}) => longestMs > Number(FUZZ_PAIR_LIMIT)).length;
console.log(
  `${findings.length} of ${pairs.length} pairs of lists, seed ${FUZZ_SEED}: ${over} held the event loop longer than ${FUZZ_PAIR_LIMIT} ms`,
);
process.exitCode = over > 0 ? 1 : 0;
