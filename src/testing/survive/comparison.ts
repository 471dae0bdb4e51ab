// Compares runs with the undisturbed one.

import {isDeepStrictEqual} from 'node:util';
import {AmbientCalls} from './ambient-calls.js';
import type {Outcome} from './run.js';
import type {Difference} from './scenario.js';
import {seedText, type Schedule, type Seed} from './schedule.js';

/** Plays the scenario undisturbed once more. */
interface Plays {
  /** With a user who does not wait for the wait of that number. */
  hurried(skippedWait: number): Promise<Outcome>;
  observed(ambient: AmbientCalls): Promise<unknown>;
}

export class Comparison {
  readonly #calm: Outcome;
  readonly #play: Plays;
  /** The ends of runs whose user did not wait, by the number of the wait. */
  readonly #hurried = new Map<number, unknown>();

  constructor(calm: Outcome, play: Plays) {
    this.#calm = calm;
    this.#play = play;
  }

  /** Returns what is wrong with the undisturbed run itself. */
  undisturbed(seed: Seed): Difference | undefined {
    const {faults, end, trace} = this.#calm;
    return faults.length === 0 ? undefined : {seed: seedText(seed), schedule: undisturbed, faults, expected: end, actual: end, trace};
  }

  /** Returns the difference of a run. */
  async differenceOf(run: Outcome, seed: Seed): Promise<Difference | undefined> {
    const {failure, faults, cut, end, trace} = run;
    const expected = this.#calm.end;
    const isEqual = failure === undefined && isDeepStrictEqual(expected, end);
    if (faults.length === 0) {
      // A scenario may rely on what it would have waited for.
      if (isEqual || (cut !== undefined && (failure !== undefined || (await this.#isHurriedEnd(cut, end))))) return undefined;
    }
    return {
      seed: seedText(seed),
      schedule: scheduleText(seed.schedule, run.writes.length > 0 ? run : this.#calm),
      faults: [
        ...(failure === undefined ? [] : [`the scenario failed: ${failure}`]),
        ...faults,
        ...(seed.schedule ? [] : [await this.#hint()]),
      ],
      expected,
      actual: end,
      trace,
    };
  }

  /** Says what may make runs differ that should not. */
  async #hint(): Promise<string> {
    const ambient = new AmbientCalls();
    await this.#play.observed(ambient);
    const calls = ambient.inWords();
    return `two runs without any fault differ: something in the operator or in the scenario is random. Do you use Date.now or Math.random? ${
      calls === '' ? 'No call of these was seen in a reconcile' : `In reconciles ${calls}`
    }`;
  }

  async #isHurriedEnd(cut: number, end: unknown): Promise<boolean> {
    if (!this.#hurried.has(cut)) this.#hurried.set(cut, (await this.#play.hurried(cut)).end);
    return isDeepStrictEqual(this.#hurried.get(cut), end);
  }
}

const undisturbed = 'without any fault, in the undisturbed run';

const scheduleText = (schedule: Schedule | undefined, {writes}: Outcome): string => {
  if (!schedule) return 'undisturbed, once more';
  const {at, number, fault} = schedule;
  if (at === 'run') return "slow: each of the operator's first 60 requests takes 1.1 s";
  const write = at === 'write' ? writes[number - 1] : undefined;
  return `${fault}, at the operator's ${at} ${number}${write ? ` (${write.text})` : ''}`;
};
