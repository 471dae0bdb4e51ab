// What is given to `survive`, and what it reports.

import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import type {OperatorController} from '#src/operator/index.js';
import type {Duration} from '#src/operator/result.js';
import type {UntilOptions} from '#src/testing/waiting/until.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';

/** What a scenario acts with, as users and the rest of the world. */
export interface Stage {
  readonly plane: Plane;
  /** The administrator's client. */
  readonly client: Client;
  readonly clock: VirtualClock;
  /**
   * Lets everything happen that is due, and time pass, until the condition holds, as `until` of `plat/testing` does:
   * within 5 minutes unless given.
   */
  until<T>(condition: () => T | Promise<T>, options?: Partial<UntilOptions>): Promise<NonNullable<T>>;
  /** Lets time pass. */
  advance(duration: Duration): Promise<void>;
}

/** Reads the state at the end of a run. */
export interface EndView {
  readonly client: Client;
  /** Returns all objects of a kind, or those of a namespace. */
  list<T extends KubeObject>(kind: Kind<T>, options?: {readonly namespace?: string}): Promise<readonly Frozen<T>[]>;
}

export interface SurviveOptions {
  /**
   * The operator. In each run, and after each stop, `controllers` is called anew if it is a function, so that nothing
   * in memory survives.
   */
  readonly controllers: readonly OperatorController[] | (() => readonly OperatorController[]);
  /** Definitions and other objects that are there before the operator, as `manifests` of `startPlane`. */
  readonly manifests?: PlaneOptions['manifests'] | string;
  /** More options of the plane. By default its only controller is the garbage collector. */
  readonly plane?: Omit<PlaneOptions, 'clock' | 'random' | 'listen' | 'manifests' | 'dataDir'>;
  /** Acts on the plane while the operator runs. */
  scenario(stage: Stage): Promise<void>;
  /**
   * Returns what must be the same at the end of every run. By default all objects of the kinds that the controllers
   * cache, without what is random or depends on time.
   */
  end?(view: EndView): unknown;
  /** The virtual time between the scenario and its end. Default 2 minutes. */
  readonly settle?: Duration;
  /** The seed of all random numbers, 1 by default; or that of a difference, which repeats only its run. */
  readonly seed?: string | number;
  /** The most runs with faults: if there are more schedules, those that run are spread evenly. Default 200. */
  readonly maxRuns?: number;
  /**
   * The real time after which no run begins. Default 5 minutes. A run that takes 20 times as long as the undisturbed
   * one, and 30 seconds or the `timeLimit`, is left and reported as one that hangs; the undisturbed one may take the
   * longer of both.
   */
  readonly timeLimit?: Duration;
}

/** A run that ended otherwise than the undisturbed one. */
export interface Difference {
  /** The value of `seed` that repeats the run. */
  readonly seed: string;
  /** What happened, in words: `the operator stopped after its write 3 (create secrets default/a)`. */
  readonly schedule: string;
  /** The end of the undisturbed run, and of this one. */
  readonly expected: unknown;
  readonly actual: unknown;
  /** Everything that was written, received and injected, with its virtual time. */
  readonly trace: readonly string[];
}

export interface SurviveReport {
  /** The runs with faults. */
  readonly runs: number;
  /** All schedules there are: more than runs after a difference, beyond `maxRuns` or after the `timeLimit`. */
  readonly schedules: number;
  /** The operator's writes in the undisturbed run. */
  readonly writes: readonly string[];
  /** The first run that ended otherwise; empty if none did. */
  readonly differences: readonly Difference[];
  /** Returns the report in words. */
  explain(): string;
}
