// Connects the parts of one controller: its event handlers on informers, its queues and workers, its health check and
// debug pages. A controller is built before informers start, so that none of its events is missed, and runs once its
// caches are synced. Building changes nothing in the cluster.

import type {Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import {keyText, type ObjectKey} from '#src/api/key.js';
import type {Client} from '#src/client/client.js';
import {RecordedAttempts, type Cause, type LoopRecording} from '#src/runtime/recording/recorded-attempts.js';
import {recordingClient} from '#src/runtime/recording/recording-client.js';
import {recordingLister} from '#src/runtime/recording/recording-lister.js';
import {writerOf} from './writer.js';
import type {Clock} from '#src/base/clock.js';
import {perItemBackoff, defaultLimiter, type RateLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import {Attempts} from './attempts.js';
import {reconcileHandler} from './reconcile-handler.js';
import {ReconcileMetrics} from './reconcile-metrics.js';
import {ReconcileTrace} from './reconcile-trace.js';
import {clientOf, contextOf, Sources, type ShutdownSignals} from './context.js';
import type {
  Controller,
  DebugPages,
  KeyedContext,
  KeyedController,
  LongRunningController,
  Loop,
  Loops,
  QueueSettings,
  Reconcile,
} from './controller.js';
import {abortOf} from './shutdown.js';
import {kindOf, registerTriggers, toQueueItem, type Enqueue} from './triggers.js';
import type {BuiltController, RuntimeEnvironment} from './environment.js';
import {followSource} from './event-source.js';

interface BuiltLoop {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  readonly admit: Loop['admit'];
  /** The controller's number of workers unless set. */
  readonly workers: number | undefined;
  readonly recording: LoopRecording | undefined;
}

const limiterOf = (clock: Clock, {baseDelayMs, maxDelayMs, shared, unshared}: QueueSettings): RateLimiter<string> =>
  unshared ? perItemBackoff(baseDelayMs ?? 5, maxDelayMs ?? 1_000_000) : defaultLimiter(clock, {baseDelayMs, maxDelayMs, shared});

const loopsOf = (
  created: Reconcile | Loops,
  controller: KeyedController,
  {clock, meter, queueLabels}: RuntimeEnvironment,
  attempts: RecordedAttempts | undefined,
): BuiltLoop[] => {
  const {name, queue: settings = {}} = controller;
  const loops = typeof created === 'function' ? {'': created} : created;
  const several = Object.keys(loops).length > 1;
  const ownName = (loop: string): string => settings.name ?? (several ? `${name}-${loop}` : name);
  return Object.entries(loops).map(([loop, given]) => {
    const {reconcile, admit, workers, queueName = ownName(loop)}: Loop = typeof given === 'function' ? {reconcile: given} : given;
    return {
      name: loop,
      reconcile,
      admit,
      workers,
      recording: attempts?.loop(loop),
      queue: new WorkQueue<string>({clock, meter, name: queueName, labels: queueLabels, limiter: limiterOf(clock, settings)}),
    };
  });
};

/** What keys that are queued together have in common. */
type CommonOptions = Parameters<KeyedContext['enqueueAll']>[1];

/** Returns `enqueue` for the queues of all loops. Requests made before `attach` are kept and delivered then. */
const enqueuerOf = (trace: ReconcileTrace | undefined) => {
  let loops: readonly BuiltLoop[] | undefined;
  const pending: Parameters<Enqueue>[] = [];
  const enqueue: Enqueue = (request, only, cause, unset) => {
    if (!loops) return void pending.push([request, only, cause, unset]);
    const {text, afterMs, priority} = toQueueItem(request, unset);
    if (trace && 'key' in request && request.cause) trace.caused(text, request.cause());
    for (const {name, queue, recording} of loops) {
      if (only !== undefined && only !== name) continue;
      recording?.queued(text, cause, afterMs > 0);
      if (afterMs > 0) queue.addAfter(text, afterMs, priority);
      else queue.add(text, priority);
    }
  };
  /** Queues many keys for all loops. */
  const enqueueAll = (keys: readonly ObjectKey[], {priority, cause}: CommonOptions, recorded: Cause) => {
    if (loops && !trace && loops.every(({recording}) => !recording)) {
      const texts = keys.map(keyText);
      for (const {queue} of loops) queue.addAll(texts, priority);
      return;
    }
    for (const key of keys) enqueue({key, afterMs: 0, priority, cause: () => cause(key)}, undefined, recorded);
  };
  const attach = (built: readonly BuiltLoop[]) => {
    loops = built;
    for (const waiting of pending.splice(0)) enqueue(...waiting);
  };
  return {enqueue, enqueueAll, attach};
};

/** Collects the health check and debug pages that a controller registers during `create`. */
const registrations = () => {
  let check: BuiltController['check'] = () => {};
  let debugPages: BuiltController['debugPages'];
  return {
    context: {healthCheck: (own: BuiltController['check']) => void (check = own), debugPages: (own: DebugPages) => void (debugPages = own)},
    built: () => ({check: () => check(), debugPages}),
  };
};

const enqueued = (afterMs: number): Cause => ({type: 'enqueued', ...(afterMs > 0 ? {afterMs} : {})});

const recordedAttemptsOf = (
  {name, primary, keysOf}: KeyedController,
  {recorder, naming, clock}: RuntimeEnvironment,
): RecordedAttempts | undefined =>
  recorder && new RecordedAttempts({recorder, controller: name, kind: primary ? kindOf(primary) : keysOf, naming, clock});

/** The parts of a context by which a controller reads and writes, if its reconciles are recorded. */
const recorded = (
  attempts: RecordedAttempts,
  given: Client,
  sources: Sources,
  listen: KeyedContext['listen'],
): Pick<KeyedContext, 'client' | 'writer' | 'lister' | 'listen'> => {
  const client = recordingClient(given, attempts);
  return {
    client,
    listen: (source, listener) =>
      listen(source, change => attempts.hear(change as Change, kindOf(source as unknown as Source), () => listener(change))),
    writer: kind => writerOf(client, kind),
    lister: source => recordingLister(sources.lister(source), kindOf(source as unknown as Source), attempts),
  };
};

const buildKeyed = async (
  controller: KeyedController,
  environment: RuntimeEnvironment,
  shutdown: ShutdownSignals,
): Promise<BuiltController> => {
  const {name, primary, reads = [], workers = 1} = controller;
  const sources = new Sources(environment, name);
  for (const source of [...(primary ? [primary] : []), ...reads]) sources.informer(source);
  const trace = environment.tracer && new ReconcileTrace(environment.tracer, name);
  const {enqueue, enqueueAll, attach} = enqueuerOf(trace);
  const registered = registrations();
  const client = await clientOf(environment, controller, shutdown);
  const records = recordedAttemptsOf(controller, environment);
  const own = contextOf(environment, controller, client, sources, shutdown);
  const context: KeyedContext = {
    ...own,
    ...(records ? recorded(records, client, sources, own.listen) : {}),
    enqueue: (key, {afterMs = 0, loop, priority = 'normal', cause} = {}) =>
      enqueue({key, afterMs, priority, cause}, loop, records?.heard ?? enqueued(afterMs)),
    enqueueAll: (keys, options) => enqueueAll(keys, options, records?.heard ?? enqueued(0)),
    recordedAs: (key, act) => (records ? records.as(key, act) : act()),
    ...registered.context,
  };
  const loops = loopsOf(await controller.create(context), controller, environment, records);
  attach(loops);
  const {listeners, startPeriods} = registerTriggers(
    controller,
    sources,
    {lister: source => sources.lister(source), naming: environment.naming, options: environment.options},
    enqueue,
  );
  sources.close();
  const concurrency = typeof workers === 'function' ? workers(environment.options) : workers;
  const {log, clock, meter} = context;
  const {check, debugPages} = registered.built();
  const watched: Attempts[] = [];
  return {
    name,
    debugPages,
    async check() {
      for (const attempts of watched) attempts.check();
      await check();
    },
    whenSynced: signal => sources.whenSynced(signal),
    async run(signal) {
      const workers = loops.reduce((sum, loop) => sum + (loop.workers ?? concurrency), 0);
      const metrics = new ReconcileMetrics(meter, name, workers);
      const running = loops.map(({queue, reconcile, admit, recording, workers: own = concurrency}) => {
        const attempts = new Attempts({limitMs: controller.reconcileTimeoutMs, clock, log, metrics, signal});
        watched.push(attempts);
        const attempt = reconcileHandler({
          queue,
          reconcile,
          admit,
          maxRetries: controller.queue?.maxRetries,
          clock,
          log,
          metrics,
          signal,
          attempts,
          trace,
          recording,
        });
        return work(queue, own, attempt, (error, key) => log.error({key, err: error}, 'a worker failed'));
      });
      startPeriods(clock, log, signal);
      const parts = {queues: loops.map(({queue}) => queue), clock, random: environment.random, log, signal, trace};
      const following = (controller.sources ?? []).map(source => followSource(source, parts));
      await abortOf(signal);
      for (const listener of listeners) listener[Symbol.dispose]();
      for (const {queue} of loops) queue.shutDown();
      await Promise.all([...running.map(workers => workers.stop()), ...following]);
    },
  };
};

const buildRunning = async (
  controller: LongRunningController,
  environment: RuntimeEnvironment,
  shutdown: ShutdownSignals,
): Promise<BuiltController> => {
  const {name, reads = [], isEssential = false} = controller;
  const sources = new Sources(environment, name);
  for (const source of reads) sources.informer(source);
  const registered = registrations();
  const run = await controller.create({
    ...contextOf(environment, controller, await clientOf(environment, controller, shutdown), sources, shutdown),
    ...registered.context,
  });
  sources.close();
  return {name, isEssential, ...registered.built(), whenSynced: signal => sources.whenSynced(signal), run};
};

/** Builds a controller: registers its event handlers and requests its informers. Nothing runs yet. */
export const build = (controller: Controller, environment: RuntimeEnvironment, shutdown: ShutdownSignals): Promise<BuiltController> =>
  controller.shape === 'keyed' ? buildKeyed(controller, environment, shutdown) : buildRunning(controller, environment, shutdown);
