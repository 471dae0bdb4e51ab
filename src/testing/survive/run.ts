// One run of a scenario, undisturbed or with a fault.

import type {InterceptedRequest, Interceptor} from '#src/api/faults/interceptor.js';
import type {Kind} from '#src/api/kind.js';
import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {OperatorController} from '#src/operator/index.js';
import {msOf} from '#src/operator/result.js';
import {kindOf} from '#src/operator/sources.js';
import {comparable} from '#src/testing/faults/comparable.js';
import {until} from '#src/testing/waiting/until.js';
import type {Plane, PlaneSnapshot} from '#src/plane/inputs/embedded.js';
import {OperatorLives, wordsOf, type Write} from './operator-lives.js';
import type {EndView, Stage, SurviveOptions} from './scenario.js';
import type {Seed} from './schedule.js';
import {Trace} from './trace.js';

/** What a run did, and how it ended. */
export interface Outcome {
  readonly writes: readonly Write[];
  readonly events: number;
  /** The compared end, or the reason why there is none. */
  readonly end: unknown;
  readonly failure: string | undefined;
  /** Faults that the run itself shows, whatever its end: errors of the program, and changes of others that were overwritten. */
  readonly faults: readonly string[];
  readonly trace: readonly string[];
}

const writing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Plays the scenario on a fork of the snapshot. */
export const play = async (snapshot: PlaneSnapshot, options: SurviveOptions, {random, schedule}: Seed): Promise<Outcome> => {
  await using plane = await snapshot.fork();
  const clock = plane.clock as VirtualClock;
  await clock.drain();
  const trace = new Trace(clock);
  const controllers = (): readonly OperatorController[] =>
    typeof options.controllers === 'function' ? options.controllers() : options.controllers;
  const kinds = kindsOf(controllers());
  const operator = new OperatorLives({plane, clock, trace, schedule, seed: random, controllers, kinds});
  using _tracing = plane.intercept(tracing(trace));
  using _striking = plane.intercept(request => operator.interception(request));
  operator.begin();
  await clock.drain();
  const failure = await failureOf(async () => {
    await options.scenario(stageOf(plane, clock));
    await clock.advance(msOf(options.settle ?? '2m'));
  });
  const end = failure === undefined ? await endOf(plane, kinds, options) : undefined;
  const overwritten = await operator.overwritten();
  const {writes, events} = operator;
  const faults = [...operator.bugs, ...(overwritten === undefined ? [] : [overwritten])];
  await operator.end();
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

/** Returns the end of a run as JSON has it, so that ends compare by value. */
const endOf = async (plane: Plane, kinds: readonly Kind[], {end}: SurviveOptions): Promise<unknown> => {
  const client = plane.client();
  const view: EndView = {
    client,
    list: async <T extends KubeObject>(kind: Kind<T>, options = {}) => (await client.resource(kind).list(options)).items as never,
  };
  const value = end ? await end(view) : await comparable(client, {compare: kinds});
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
};

const stageOf = (plane: Plane, clock: VirtualClock): Stage => ({
  plane,
  client: plane.client(),
  clock,
  until: (condition, options = {}) => until(plane, condition, {within: '5m', ...options}),
  advance: duration => clock.advance(msOf(duration)),
});

/** Traces the writes of all clients, but not those of the server itself. */
const tracing =
  (trace: Trace): Interceptor =>
  request => {
    if (!writing.has(request.verb) || request.user === 'system:apiserver') return undefined;
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

/** The name of a created object, which is not in its path. */
const madeName = ({name, namespace}: InterceptedRequest, {body}: ApiResponse): string => {
  if (name !== '' || body.kind !== 'object') return '';
  const {metadata} = body.object() as KubeObject;
  return metadata?.name ? `${namespace ? '/' : ' '}${metadata.name}` : '';
};
