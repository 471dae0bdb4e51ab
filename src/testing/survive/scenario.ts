// The options and the report of `survive`.

import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/operator/client/client.js';
import type {OperatorController} from '#src/operator/index.js';
import type {Duration} from '#src/operator/result.js';
import type {UntilOptions} from '#src/testing/waiting/until.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';

/** The means of a scenario to act as users and as the rest of the world. */
export interface Stage {
  readonly plane: Plane;
  /** The administrator's client. */
  readonly client: Client;
  readonly clock: VirtualClock;
  /**
   * Runs everything that is due and advances time until the condition holds, like `until` of `@platio/plat/testing`:
   * within 5 minutes by default.
   */
  until<T>(condition: () => T | Promise<T>, options?: Partial<UntilOptions>): Promise<NonNullable<T>>;
  /** Advances time. */
  advance(duration: Duration): Promise<void>;
}

/** Reads the state at the end of a run, or after a write. */
export interface EndView {
  readonly client: Client;
  /**
   * Returns all objects of a kind, optionally of one namespace, without the annotation with which runs touch objects.
   */
  list<T extends KubeObject>(kind: Kind<T>, options?: {readonly namespace?: string}): Promise<readonly Frozen<T>[]>;
}

export interface SurviveOptions {
  /**
   * The operator. If `controllers` is a function, it is called in each run and after each stop, so that no state in
   * memory survives.
   */
  readonly controllers: readonly OperatorController[] | (() => readonly OperatorController[]);
  /** Definitions and other objects that exist before the operator, as `manifests` of `startPlane`. */
  readonly manifests?: PlaneOptions['manifests'] | string;
  /** Further options of the plane. By default its only controller is the garbage collector. */
  readonly plane?: Omit<PlaneOptions, 'clock' | 'random' | 'listen' | 'manifests' | 'dataDir'>;
  /** Acts on the plane while the operator runs. */
  scenario(stage: Stage): Promise<void>;
  /**
   * Returns the state that must be equal at the end of every run. By default all objects of the kinds that the
   * controllers cache, without random and time-dependent fields. Where a user acts earlier than in the undisturbed run,
   * it may also be that of a run whose user did not wait at all.
   */
  end?(view: EndView): unknown;
  /**
   * Checks what must hold at every moment. It is called after each write, whoever makes it; a throw, `false` or text,
   * which says what is wrong, ends the run, and the report names the write.
   */
  invariant?(view: EndView): unknown;
  /** The virtual time between the end of the scenario and the comparison. Default 2 minutes. */
  readonly settle?: Duration;
  /** The seed of all random numbers, 1 by default; or the seed of a difference, to repeat that run. */
  readonly seed?: string | number;
  /** The maximum number of runs with faults: a subset of the schedules is spread evenly. Default 200. */
  readonly maxRuns?: number;
  /**
   * The real time after which no further run starts. Default 5 minutes. A run that takes 20 times as long as the
   * undisturbed one, and 30 seconds or the `timeLimit`, is abandoned and reported as hanging; the limit of the
   * undisturbed one is the longer of both.
   */
  readonly timeLimit?: Duration;
}

/** A run whose end differs from that of the undisturbed one, or with which something is wrong by itself. */
export interface Difference {
  /** The value of `seed` that repeats the run. */
  readonly seed: string;
  /** The fault in words: `the operator stopped after its write 3 (create secrets default/a)`. */
  readonly schedule: string;
  /**
   * What is wrong in the run itself: keys that still fail, writes in a loop, a violated invariant, an overwritten
   * change, a failed scenario.
   */
  readonly faults: readonly string[];
  /** The end of the undisturbed run and of this one; undefined for a run that did not get there. */
  readonly expected: unknown;
  readonly actual: unknown;
  /** Everything that was written, received and injected, with virtual times. */
  readonly trace: readonly string[];
}

export interface SurviveReport {
  /** The number of runs with faults. */
  readonly runs: number;
  /** The number of all schedules: more than runs after a difference, beyond `maxRuns` or after the `timeLimit`. */
  readonly schedules: number;
  /** The operator's writes in the undisturbed run. */
  readonly writes: readonly string[];
  /** The first run with a different end or with faults, which may be the undisturbed one; empty if there is none. */
  readonly differences: readonly Difference[];
  /** Returns the report as text. */
  explain(): string;
}
