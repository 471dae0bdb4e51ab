import {seededRandom} from '#src/base/random.js';
import {largestBody} from './requests.js';
import {sweepServer} from './server.js';
import {casesOf, drawn, drawnOfEach, sweep, type Finding} from './sweep.js';

/**
 * `make fuzz`: fills lists and maps of every kind up to the body limit, sends the objects through every kind of write,
 * and fails if one blocks the event loop too long. FUZZ_CASES (default: all), FUZZ_OF_EACH (as many of each kind),
 * FUZZ_SEED (default 1) and FUZZ_ONLY (a regular expression for `path field`) select cases; FUZZ_BYTES is the size of
 * bodies, FUZZ_LIMIT the limit in ms. Each request beyond the limit is reported on stderr at once, so that a run that
 * is cut short has said what it saw.
 */
const {
  FUZZ_CASES,
  FUZZ_OF_EACH,
  FUZZ_SEED = '1',
  FUZZ_ONLY = '',
  FUZZ_BYTES = String(largestBody - 64 * 1024),
  FUZZ_LIMIT = '50',
} = process.env;
const shown = 60;

await using server = await sweepServer();
const only = new RegExp(FUZZ_ONLY);
const matching = [...casesOf(server)].filter(({target, collection}) =>
  only.test(`${target.label} ${collection.path.map(step => (typeof step === 'string' ? step : step.field)).join('.')}`),
);
const random = seededRandom(Number(FUZZ_SEED));
const ofEach = FUZZ_OF_EACH ? drawnOfEach(matching, Number(FUZZ_OF_EACH), random) : matching;
const cases = FUZZ_CASES ? drawn(ofEach, Number(FUZZ_CASES), random) : ofEach;
const findings: Finding[] = [];
const lineOf = ({label, verb, filling, status, longestMs, ms, bytes}: Finding): string =>
  `${longestMs.toFixed(0).padStart(7)} ms of ${ms.toFixed(0).padStart(7)}  ${status}  ${verb}  ${label}  (${filling}, ${bytes} bytes)`;

let done = 0;
let reportedAt = performance.now();
for (const one of cases) {
  for await (const finding of sweep(server, one, Number(FUZZ_BYTES))) {
    findings.push(finding);
    if (finding.longestMs > Number(FUZZ_LIMIT)) console.error(lineOf(finding));
  }
  done++;
  if (performance.now() - reportedAt > 10_000) {
    reportedAt = performance.now();
    console.error(`${done} of ${cases.length} cases, ${findings.length} requests, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB`);
  }
}
const over = findings.filter(({longestMs}) => longestMs > Number(FUZZ_LIMIT)).sort((a, b) => b.longestMs - a.longestMs);
for (const finding of over.slice(0, shown)) console.log(lineOf(finding));
console.log('longest in all:');
for (const finding of findings.toSorted((a, b) => b.ms - a.ms).slice(0, 10)) console.log(lineOf(finding));
console.log(`${findings.length} requests, seed ${FUZZ_SEED}: ${over.length} held the event loop longer than ${FUZZ_LIMIT} ms`);
process.exitCode = over.length > 0 ? 1 : 0;
