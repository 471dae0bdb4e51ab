// One run of a scenario, undisturbed or with a fault.

import {jsonText, parseJson} from '#src/base/json/json.js';
import type {InterceptedRequest, Interceptor} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import {formatDuration} from '#src/api/duration.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {OperatorController} from '#src/operator/index.js';
import {msOf} from '#src/operator/result.js';
import {kindOf} from '#src/operator/sources.js';
import {comparableObjects} from '#src/testing/faults/comparable.js';
import {currentActivity, withTimeLimit, TimeLimitExceeded} from '#src/testing/waiting/time-limit.js';
import {until} from '#src/testing/waiting/until.js';
import type {Plane, PlaneSnapshot} from '#src/plane/inputs/embedded.js';
import {OperatorInstances, wordsOf, type Write} from './operator-instances.js';
import type {EndView, Stage, SurviveOptions} from './scenario.js';
import type {Seed} from './schedule.js';
import {Trace} from './trace.js';

/** What was recorded in a run, and its end. */
export interface Outcome {
  readonly writes: readonly Write[];
  readonly events: number;
  /** The compared end, or the reason why there is none. */
  readonly end: unknown;
  readonly failure: string | undefined;
  /** Errors detected in the run itself, whatever its end: programming errors, and overwritten changes of others. */
  readonly faults: readonly string[];
  readonly trace: readonly string[];
}

const writing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** How long the plane of an abandoned run may take to stop, in real time. */
const stopMs = 10_000;

/**
 * Plays the scenario on a fork of the snapshot. A run that has not ended after `limitMs` of real time is abandoned, and
 * fails.
 */
export const playScenario = async (snapshot: PlaneSnapshot, options: SurviveOptions, seed: Seed, limitMs: number): Promise<Outcome> => {
  const plane = await snapshot.fork();
  const clock = plane.clock as VirtualClock;
  const trace = new Trace(clock);
  const start = clock.monotonic();
  let isLeft = false;
  const doing = () =>
    `the run has not ended, ${formatDuration(clock.monotonic() - start)} of virtual time after its start: ${currentActivity(clock)}`;
  try {
    return await withTimeLimit(limitMs, doing, signal => unlessAborted(playOn(plane, options, seed, {trace, signal}), signal));
  } catch (error) {
    if (!(error instanceof TimeLimitExceeded)) throw error;
    isLeft = true;
    return {writes: [], events: 0, end: undefined, failure: error.message, faults: [], trace: trace.lines};
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
  plane: Plane,
  options: SurviveOptions,
  {random, schedule}: Seed,
  {trace, signal}: {readonly trace: Trace; readonly signal: AbortSignal},
): Promise<Outcome> => {
  const clock = plane.clock as VirtualClock;
  await clock.drain(signal);
  const controllers = (): readonly OperatorController[] =>
    typeof options.controllers === 'function' ? options.controllers() : options.controllers;
  const kinds = kindsOf(controllers());
  const operator = new OperatorInstances({plane, clock, trace, schedule, seed: random, controllers, kinds});
  signal.addEventListener('abort', () => operator.stop(), {once: true});
  using _tracing = plane.intercept(tracing(trace));
  using _striking = plane.intercept(request => operator.interception(request));
  operator.begin();
  await clock.drain(signal);
  const failure = await failureOf(async () => {
    await options.scenario(stageOf(plane, clock, signal));
    await clock.advance(msOf(options.settle ?? '2m'), signal);
  });
  signal.throwIfAborted();
  const end = failure === undefined ? await endOf(plane, kinds, options) : undefined;
  const overwritten = await operator.overwritten();
  const {writes, events} = operator;
  const faults = [...operator.bugs, ...(overwritten === undefined ? [] : [overwritten])];
  await operator.end(signal);
  return {writes, events, end, failure, faults, trace: trace.lines};
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
  const client = plane.client();
  const view: EndView = {
    client,
    list: async <T extends KubeObject>(kind: Kind<T>, options = {}) => (await client.resource(kind).list(options)).items as never,
  };
  const value = end ? await end(view) : await comparableObjects(client, {compare: kinds});
  return parseJson(jsonText(value ?? null)) as unknown;
};

const stageOf = (plane: Plane, clock: VirtualClock, signal: AbortSignal): Stage => ({
  plane,
  client: plane.client(),
  clock,
  until: (condition, options = {}) => until(plane, condition, {within: '5m', signal, ...options}),
  advance: duration => clock.advance(msOf(duration), signal),
});

/** Traces the writes of all clients, except those of the server itself. */
const tracing =
  (trace: Trace): Interceptor =>
  request => {
    if (!writing.has(request.verb) || request.user === wellKnown.server) return undefined;
    return {
      kind: 'around',
      async around(handle) {
        try {
          const response = (await handle()) as ApiResponse;
          trace.add(actorOf(request), `${wordsOf(request)}${madeName(request, response)}: ${response.status}`);
          return response;
        } catch (error) {
          trace.add(actorOf(request), `${wordsOf(request)}: ${messageOf(error)}`);
          throw error;
        }
      },
    };
  };

const actorOf = ({user}: InterceptedRequest): string => (user === 'plat-admin' ? 'scenario' : user.split(':').at(-1)!);

/** The name of a created object, which is not in the path. */
const madeName = ({name, namespace}: InterceptedRequest, {body}: ApiResponse): string => {
  if (name !== '' || body.kind !== 'object') return '';
  const {metadata} = body.object() as KubeObject;
  return metadata?.name ? `${namespace ? '/' : ' '}${metadata.name}` : '';
};
