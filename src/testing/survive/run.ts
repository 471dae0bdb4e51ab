// One run of a scenario, undisturbed or with a fault.

import {jsonText, parseJson} from '#src/base/json/json.js';
import type {Kind} from '#src/api/kind.js';
import {formatDuration} from '#src/api/duration.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {firstOf, unlessAborted} from '#src/base/signals.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {OperatorController} from '#src/operator/index.js';
import {msOf} from '#src/operator/result.js';
import {kindOf} from '#src/operator/sources.js';
import {comparableObjects} from '#src/testing/faults/comparable.js';
import {currentActivity, withTimeLimit, TimeLimitExceeded} from '#src/testing/waiting/time-limit.js';
import {until} from '#src/testing/waiting/until.js';
import type {Plane, PlaneSnapshot} from '#src/plane/inputs/embedded.js';
import {Acts} from './acts.js';
import {observeAmbientCalls, type AmbientCalls} from './ambient-calls.js';
import {viewOf} from './end-view.js';
import {Findings} from './findings.js';
import {observing, tracing} from './observation.js';
import {OperatorInstances, type Write} from './operator-instances.js';
import {OwnFinalizers} from './own-finalizers.js';
import type {Stage, SurviveOptions} from './scenario.js';
import type {Seed} from './schedule.js';
import {Trace} from './trace.js';
import type {World} from './world.js';
import {WriteLoops} from './write-loops.js';

/** What was recorded in a run, and its end. */
export interface Outcome {
  readonly writes: readonly Write[];
  readonly events: number;
  /** How many writes the scenario made. */
  readonly acts: number;
  /** The first wait of the scenario that was cut short, from 1. */
  readonly cut: number | undefined;
  /** The compared end; undefined if there is none. */
  readonly end: unknown;
  /** Why the scenario failed. */
  readonly failure: string | undefined;
  /**
   * Errors detected in the run itself, whatever its end: programming errors, loops, keys that fail, a violated
   * invariant, and overwritten changes of others.
   */
  readonly faults: readonly string[];
  readonly trace: readonly string[];
}

/** How long the plane of an abandoned run may take to stop, in real time. */
const stopMs = 10_000;

/**
 * Plays the scenario on a fork of the snapshot. A run that has not ended after `limitMs` of real time is abandoned, and
 * fails. Calls of reconciles that repeat in no run are noted in `ambient`, if it is given, which costs time.
 */
export const playScenario = async (
  snapshot: PlaneSnapshot,
  options: SurviveOptions,
  seed: Seed,
  {limitMs, ambient}: {readonly limitMs: number; readonly ambient?: AmbientCalls},
): Promise<Outcome> => {
  const plane = await snapshot.fork();
  const clock = plane.clock as VirtualClock;
  const world: World = {plane, clock, trace: new Trace(clock), findings: new Findings()};
  const start = clock.monotonic();
  let isLeft = false;
  const doing = () =>
    `the run has not ended, ${formatDuration(clock.monotonic() - start)} of virtual time after its start: ${currentActivity(clock)}`;
  using _observing = ambient && observeAmbientCalls();
  try {
    return await withTimeLimit(limitMs, doing, signal => unlessAborted(playOn(world, options, seed, {signal, ambient}), signal));
  } catch (error) {
    if (!(error instanceof TimeLimitExceeded)) throw error;
    isLeft = true;
    const {trace} = world;
    return {writes: [], events: 0, acts: 0, cut: undefined, end: undefined, failure: error.message, faults: [], trace: trace.lines};
  } finally {
    // A hanging operation may prevent the plane from stopping.
    if (isLeft)
      await withTimeLimit(
        stopMs,
        () => 'stopping',
        signal => unlessAborted(plane.stop(), signal),
      ).catch(() => {});
    else await plane.stop();
  }
};

const playOn = async (
  world: World,
  options: SurviveOptions,
  seed: Seed,
  {signal, ambient}: {readonly signal: AbortSignal; readonly ambient: AmbientCalls | undefined},
): Promise<Outcome> => {
  const {plane, clock, trace, findings} = world;
  await clock.drain(signal);
  const controllers = (): readonly OperatorController[] =>
    typeof options.controllers === 'function' ? options.controllers() : options.controllers;
  const kinds = kindsOf(controllers());
  const {skippedWait} = seed;
  const acts = new Acts(
    clock,
    skippedWait === undefined ? undefined : {number: skippedWait, leave: () => operator.stop(), comeBack: () => operator.begin()},
  );
  const [loops, finalizers] = [new WriteLoops(clock), new OwnFinalizers()];
  const operator = new OperatorInstances({world, schedule: seed.schedule, seed: seed.random, controllers, kinds, acts, loops, ambient});
  for (const ended of [signal, findings.ended]) ended.addEventListener('abort', () => operator.stop(), {once: true});
  using _tracing = plane.intercept(tracing(trace));
  using _striking = plane.intercept(request => operator.interception(request));
  using _observing = plane.intercept(observing({world, acts, loops, finalizers, invariant: options.invariant}));
  acts.begin(() => operator.begin());
  await clock.drain(signal);
  const failure = await failureOf(() => playOut(world, options, acts, signal));
  signal.throwIfAborted();
  const isWhole = failure === undefined && !findings.ended.aborted;
  if (!findings.ended.aborted)
    for (const problem of [...(await operator.problems()), ...(await finalizers.left(plane.client(), kinds))]) findings.add(problem);
  if (isWhole && !operator.hasReconciled) findings.add('no key was ever reconciled: nothing that the scenario did concerned the operator');
  const end = isWhole ? await endOf(plane, kinds, options) : undefined;
  const {writes, events} = operator;
  await operator.end(signal);
  return {
    writes,
    events,
    acts: acts.count,
    cut: acts.cut,
    end,
    // A run that ended early has not failed for the scenario's sake.
    failure: findings.ended.aborted ? undefined : failure,
    faults: findings.all,
    trace: trace.lines,
  };
};

/** Plays the scenario, and lets time pass after it. */
const playOut = async ({plane, clock, findings}: World, options: SurviveOptions, acts: Acts, outer: AbortSignal): Promise<void> => {
  using either = firstOf(outer, findings.ended);
  const {signal} = either;
  await unlessAborted(options.scenario(stageOf(plane, clock, acts, signal)), signal);
  acts.over();
  await clock.advance(msOf(options.settle ?? '2m'), signal);
};

const failureOf = async (act: () => Promise<void>): Promise<string | undefined> => {
  try {
    await act();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
};

const kindsOf = (controllers: readonly OperatorController[]): Kind[] => {
  const all = controllers.flatMap(({sources}) => sources.map(kindOf)) as unknown as Kind[];
  return [...new Map(all.map(kind => [`${kind.plural}.${kind.group}`, kind])).values()];
};

/** Returns the end of a run as JSON values, which can be compared. */
const endOf = async (plane: Plane, kinds: readonly Kind[], {end}: SurviveOptions): Promise<unknown> => {
  const value = end ? await end(viewOf(plane)) : await comparableObjects(plane.client(), {compare: kinds});
  return parseJson(jsonText(value ?? null)) as unknown;
};

const stageOf = (plane: Plane, clock: VirtualClock, acts: Acts, signal: AbortSignal): Stage => ({
  plane,
  client: plane.client(),
  clock,
  until: (condition, options = {}) =>
    acts.wait(
      hurry => untilEither(plane, condition, {within: '5m', ...options}, [signal, hurry]),
      // The scenario goes on with what there is.
      async () => (await present(condition)) as never,
    ),
  advance: duration =>
    acts.wait(
      async hurry => {
        using either = firstOf(signal, hurry);
        await clock.advance(msOf(duration), either.signal);
      },
      async () => {},
    ),
});

const untilEither = async <T>(
  plane: Plane,
  condition: () => T | Promise<T>,
  options: Parameters<typeof until>[2],
  [one, other]: readonly [AbortSignal, AbortSignal],
): Promise<NonNullable<T>> => {
  using either = firstOf(one, other);
  return await until(plane, condition, {...options, signal: either.signal});
};

/** Returns the value of a condition; undefined for an object that does not exist. */
const present = async <T>(condition: () => T | Promise<T>): Promise<T | undefined> => {
  try {
    return await condition();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};
