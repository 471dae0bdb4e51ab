import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import type {Kind} from '#src/api/kinds/index.js';
import {expired} from '#src/api/status.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {createComponent} from '#src/plane/component/component.js';
import {inProcessConnection} from '#src/plane/component/in-process.js';
import {controllerManager} from '#src/plane/controller-manager/component.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags} from '#src/options/parse.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {Controller} from '#src/runtime/controller.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';
import {comparableObjects, touchKey} from '#src/testing/faults/comparable.js';
import {WatchStreams, type WatchStream} from '#src/testing/faults/watch-streams.js';
import {stageOf, type Stage} from './stage.js';

/** A scenario for a controller. */
export interface Scenario {
  /** The steps: the actions of users and nodes, one after the other, with time for the controller in between. */
  readonly steps: readonly ((stage: Stage) => Promise<unknown>)[];
  /** The kinds that are compared in the end. */
  readonly compare: readonly Kind[];
  /** Writes that make the controller reconcile again while its caches are stale. */
  readonly touch: Kind;
  /** Flags of the controller manager beside those all have. */
  readonly args?: readonly string[];
  /** Features that the server has too. */
  readonly gates?: readonly string[];
  /** Fields whose content is random, whatever the run. */
  readonly blurred?: readonly string[];
  /**
   * Writes that are lost with a manager that stops before them: only deletions without a trace request them, as in the
   * original.
   */
  readonly lost?: RegExp;
  /** Set for a controller that writes nothing but Events: they count as its writes then. */
  readonly onlyEvents?: true;
  /** The time of each step; 30 s by default. */
  readonly settleMs?: number;
}

/** The faults at a write. A stopped manager ends at once: its later writes are dropped. */
export const faults = ['stopped before', 'stopped after, the answer lost', 'caches held back', 'event lost'] as const;
export type Fault = (typeof faults)[number];

/** A fault at the nth write of a run, from 0. */
export interface Planned {
  readonly fault: Fault;
  readonly write: number;
}

export interface Outcome {
  /** The controller's writes, without Events. */
  readonly writes: readonly string[];
  readonly state: unknown;
  /** Faults of the program itself, such as a change of a frozen object. */
  readonly bugs: readonly unknown[];
}

/** How long caches are held back: longer than any batch period. */
const heldMs = 3_000;

const reviews = /\/(tokenreviews|subjectaccessreviews)(\/|\?|$)/;
const untracked = /\/(events|tokenreviews|subjectaccessreviews)(\/|\?|$)/;
/** The resource a path is about. */
const resourceOf = (url: string): string => {
  const [path = ''] = url.split('?');
  const [, version, rest = ''] = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/(.*)$/.exec(path) ?? [];
  const segments = rest.split('/');
  const within =
    segments[0] === 'namespaces' && segments.length > 2 && !['status', 'finalize'].includes(segments[2]!) ? segments[2] : segments[0];
  return `${version}/${within}`;
};

/** One life of the manager. */
interface Life {
  isOver: boolean;
  readonly stop: AbortController;
  readonly streams: WatchStreams;
}

/** Runs a scenario of a controller over a server of its own, with a fault or undisturbed. */
export const play = async (
  controller: Controller,
  scenario: Scenario,
  files: readonly string[],
  planned?: Planned,
  settings: Pick<ServerOptions, 'authorizer'> = {},
): Promise<Outcome> => {
  const {clock, server, clientOf} = startServer({
    garbageCollector: true,
    gate: name => scenario.gates?.includes(name) ?? false,
    ...settings,
  });
  const client = clientOf('admin');
  const {naming} = client;
  const parsed = parseFlags(controllerManagerFlags, [
    `--controllers=${controller.name}`,
    '--leader-elect=false',
    '--use-service-account-credentials',
    ...files,
    ...(scenario.args ?? []),
  ]);
  const writes: string[] = [];
  const {log, bugs} = bugLog();
  let losing: ((stream: WatchStream) => boolean) | undefined;
  const newStreams = () =>
    new WatchStreams({
      clock,
      deliveryOf(stream) {
        if (!losing?.(stream)) return 'pass';
        losing = undefined;
        return 'lose';
      },
    });

  const touch = async () => {
    const resource = client.resource(scenario.touch);
    for (const {metadata} of (await resource.list()).items) {
      // Others may be deleting it at this moment.
      await resource
        .patch(
          metadata!.name!,
          'merge',
          {metadata: {annotations: {[touchKey]: 'yes'}}},
          metadata?.namespace ? {namespace: metadata.namespace} : {},
        )
        .catch(() => {});
    }
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve));
  };

  const strike = async (fault: Fault, life: Life, request: ApiRequest): Promise<ApiResponse> => {
    switch (fault) {
      case 'stopped before':
        return restart(life);
      case 'stopped after, the answer lost':
        await server.handler(request);
        return restart(life);
      case 'caches held back': {
        await touch();
        life.streams.holdBack(heldMs);
        return server.handler(request);
      }
      case 'event lost': {
        const resource = resourceOf(request.url);
        const isWatched = life.streams.isWatched(resource);
        losing = stream => !isWatched || stream.resource === resource;
        return server.handler(request);
      }
    }
  };

  const handlerOf =
    (life: Life): ApiHandler =>
    async request => {
      if (life.isOver) throw new Error('the manager is dead');
      using _ = clock.hold();
      if (request.method !== 'GET' && !(scenario.onlyEvents ? reviews : untracked).test(request.url)) {
        const write = writes.push(`${request.method} ${request.url}`) - 1;
        if (planned?.write === write) return strike(planned.fault, life, request);
        return server.handler(request);
      }
      const resource = resourceOf(request.url);
      if (request.url.includes('watch=true') && life.streams.takeOutdated(resource)) {
        const {status} = expired('too old resource version');
        return {status: 410, headers: {}, body: {kind: 'bytes', bytes: JSON.stringify(status), contentType: 'application/json'}};
      }
      return life.streams.around(resource, await server.handler(request));
    };

  let current: Life | undefined;
  const begin = () => {
    const life: Life = {isOver: false, stop: new AbortController(), streams: newStreams()};
    current = life;
    const connection = inProcessConnection({
      role: 'controller-manager',
      handler: handlerOf(life),
      naming,
      clock,
      options: parsed.options,
      set: parsed.set,
    });
    const run = async () => {
      const environment = {clock, random: seededRandom(3), log, metrics: new MetricsRegistry(), freeze: true, signal: life.stop.signal};
      const {manager} = await createComponent(controllerManager([controller]), parsed, connection, environment);
      void manager.ready.catch(() => {}).finally(() => starting[Symbol.dispose]());
      await manager.run(life.stop.signal);
    };
    // Files are read at the start, which no virtual clock knows of.
    const starting = clock.hold();
    void run().catch((error: unknown) => life.isOver || bugs.push(error));
  };
  const restart = (life: Life): never => {
    life.isOver = true;
    life.streams.end();
    life.stop.abort(new Error('dead'));
    begin();
    throw new Error('the manager is dead');
  };

  begin();
  await clock.drain();
  const stage = stageOf(clientOf, clock);
  for (const step of scenario.steps) {
    await step(stage);
    await clock.advance(scenario.settleMs ?? 30_000);
  }
  const state = await comparableObjects(client, scenario);
  const last = current!;
  last.isOver = true;
  last.stop.abort(new Error('the play is over'));
  await clock.drain();
  return {writes, state, bugs};
};

/** A log that keeps the errors which only a programming fault can cause. */
const bugLog = () => {
  const bugs: unknown[] = [];
  const record = (first: string | LogFields) => {
    const {err} = typeof first === 'string' ? {err: undefined} : first;
    if (err instanceof TypeError || err instanceof ReferenceError || err instanceof RangeError) bugs.push(err.stack);
  };
  const log: Log = {...noLog, warn: record, error: record, v: () => noLog, child: () => log};
  return {log, bugs};
};
