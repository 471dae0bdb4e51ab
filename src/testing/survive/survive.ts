import {systemClock} from '#src/base/clock.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {msOf} from '#src/operator/result.js';
import {startPlane} from '#src/plane/plane.js';
import {Comparison} from './comparison.js';
import {explainReport} from './explain.js';
import {playScenario} from './run.js';
import type {Difference, SurviveOptions, SurviveReport} from './scenario.js';
import {parseSeed, schedulesOf, spreadEvenly, type Seed} from './schedule.js';

/**
 * A run hangs if it takes this factor longer than the undisturbed one, and at least this long unless the time limit is
 * shorter, in real time.
 */
const hangs = {factor: 20, atLeastMs: 30_000};

/**
 * Runs an operator through a scenario undisturbed, and then repeatedly with one fault each: stopped before and after
 * each of its writes, with stale caches, with lost responses, with objects changed by others meanwhile, with users who
 * do not wait, and with each event missed, delayed and doubled. Each run starts from the same state, on a plane of its
 * own with a virtual clock, and has to end like the undisturbed one. Stops at the first that does not, or with which
 * something is wrong by itself. Rejects if the scenario fails in the undisturbed run.
 */
export const survive = async (options: SurviveOptions): Promise<SurviveReport> => {
  const {manifests = [], plane: given = {}, seed = 1, maxRuns = 200, timeLimit = '5m'} = options;
  if (!(Number.isInteger(maxRuns) && maxRuns > 0)) throw new RangeError(`maxRuns is ${maxRuns}, not a positive integer`);
  const {random, schedule: only} = parseSeed(seed);
  await using plane = await startPlane({
    controllers: ['garbage-collector-controller'],
    freeze: true,
    ...given,
    manifests: typeof manifests === 'string' ? [manifests] : manifests,
    listen: false,
    clock: new VirtualClock(),
    random: seededRandom(random),
  });
  using snapshot = plane.snapshot();
  const begunAt = systemClock.monotonic();
  const calm = await playScenario(snapshot, options, {random}, {limitMs: Math.max(msOf(timeLimit), hangs.atLeastMs)});
  const limitMs = Math.max(hangs.factor * (systemClock.monotonic() - begunAt), Math.min(hangs.atLeastMs, msOf(timeLimit)));
  if (calm.failure !== undefined)
    throw new Error(
      [`the scenario fails without any fault: ${calm.failure}`, ...calm.faults.map(fault => `- ${fault}`), ...calm.trace].join('\n'),
    );
  const all = only ? [only] : schedulesOf({...calm, writes: calm.writes.map(write => ({...write, isFollowed: write.acts < calm.acts}))});
  const comparison = new Comparison(calm, {
    hurried: skippedWait => playScenario(snapshot, options, {random, skippedWait}, {limitMs}),
    observed: ambient => playScenario(snapshot, options, {random}, {limitMs, ambient}),
  });
  const undisturbed = comparison.undisturbed({random});
  const differences: Difference[] = undisturbed ? [undisturbed] : [];
  // The undisturbed run is repeated first: a scenario with a random end proves nothing.
  const seeds: readonly Seed[] = only
    ? [{random, schedule: only}]
    : [{random}, ...spreadEvenly(all, maxRuns).map(schedule => ({random, schedule}))];
  const end = systemClock.monotonic() + msOf(timeLimit);
  let runs = 0;
  for (const each of seeds) {
    if (differences.length > 0 || systemClock.monotonic() >= end) break;
    const outcome = await playScenario(snapshot, options, each, {limitMs});
    if (each.schedule) runs++;
    const difference = await comparison.differenceOf(outcome, each);
    if (difference) differences.push(difference);
  }
  const report = {runs, schedules: all.length, writes: calm.writes.map(({text}) => text), differences};
  return {...report, explain: () => explainReport(report)};
};
