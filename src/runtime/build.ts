import type {Clock} from '#src/base/clock.js';
import {perItem, standardLimiter, type RateLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import {attempts} from './attempts.js';
import {clientOf, contextOf, Sources, type Life} from './context.js';
import type {Controller, DebugPages, KeyedContext, KeyedController, LongRunningController, Loop, Loops, QueueSettings, Reconcile} from './controller.js';
import {abortOf} from './shutdown.js';
import {connect, spelled, type Ask} from './triggers.js';
import type {Wish} from './watches.js';
import type {BuiltController, World} from './world.js';

interface BuiltLoop {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  /** As many as the controller's unless given. */
  readonly workers: number | undefined;
}

const limiterOf = (clock: Clock, {baseDelayMs, maxDelayMs, unshared}: QueueSettings): RateLimiter<string> =>
  unshared ? perItem(baseDelayMs ?? 5, maxDelayMs ?? 1_000_000) : standardLimiter(clock, {baseDelayMs, maxDelayMs});

const loopsOf = (created: Reconcile | Loops, controller: KeyedController, {clock, meter}: World): BuiltLoop[] => {
  const {name, queue: settings = {}} = controller;
  const loops = typeof created === 'function' ? {'': created} : created;
  const several = Object.keys(loops).length > 1;
  const ownName = (loop: string): string => settings.name ?? (several ? `${name}-${loop}` : name);
  return Object.entries(loops).map(([loop, given]) => {
    const {reconcile, workers, queueName = ownName(loop)}: Loop = typeof given === 'function' ? {reconcile: given} : given;
    return {name: loop, reconcile, workers, queue: new WorkQueue<string>({clock, meter, name: queueName, limiter: limiterOf(clock, settings)})};
  });
};

/** Asks the queues of the loops; what is asked for before they exist is kept for them. */
const asking = () => {
  let loops: readonly BuiltLoop[] | undefined;
  const early: (readonly [Wish, string | undefined])[] = [];
  const ask: Ask = (wish, only) => {
    if (!loops) return void early.push([wish, only]);
    const {text, afterMs} = spelled(wish);
    for (const {name, queue} of loops) {
      if (only !== undefined && only !== name) continue;
      if (afterMs > 0) queue.addAfter(text, afterMs);
      else queue.add(text);
    }
  };
  const open = (built: readonly BuiltLoop[]) => {
    loops = built;
    for (const [wish, only] of early.splice(0)) ask(wish, only);
  };
  return {ask, open};
};

/** What a controller may offer beside its work while it is created. */
const offered = () => {
  let check: BuiltController['check'] = () => {};
  let debugPages: BuiltController['debugPages'];
  return {
    context: {healthCheck: (own: BuiltController['check']) => void (check = own), debugPages: (own: DebugPages) => void (debugPages = own)},
    built: () => ({check: () => check(), debugPages}),
  };
};

const buildKeyed = async (controller: KeyedController, world: World, life: Life): Promise<BuiltController> => {
  const {name, primary, reads = [], workers = 1} = controller;
  const sources = new Sources(world, name);
  for (const source of [...(primary ? [primary] : []), ...reads]) sources.informer(source);
  const {ask, open} = asking();
  const offers = offered();
  const context: KeyedContext = {
    ...contextOf(world, controller, await clientOf(world, controller, life), sources, life),
    enqueue: (key, {afterMs = 0, loop} = {}) => ask({key, afterMs}, loop),
    ...offers.context,
  };
  const loops = loopsOf(await controller.create(context), controller, world);
  open(loops);
  const {listeners, startPeriods} = connect(controller, sources, {lister: context.lister, naming: world.naming, options: world.options}, ask);
  sources.close();
  const concurrency = typeof workers === 'function' ? workers(world.options) : workers;
  const {log, clock, meter} = context;
  return {
    name,
    ...offers.built(),
    whenSynced: signal => sources.whenSynced(signal),
    async run(signal) {
      const running = loops.map(({queue, reconcile, workers: own = concurrency}) => {
        const attempt = attempts({controller: name, queue, reconcile, maxRetries: controller.queue?.maxRetries, clock, log, meter, signal});
        return work(queue, own, attempt, (error, key) => log.error({key, err: error}, 'a worker failed'));
      });
      startPeriods(clock, log, signal);
      await abortOf(signal);
      for (const listener of listeners) listener[Symbol.dispose]();
      for (const {queue} of loops) queue.shutDown();
      await Promise.all(running.map(workers => workers.stop()));
    },
  };
};

const buildRunning = async (controller: LongRunningController, world: World, life: Life): Promise<BuiltController> => {
  const {name, reads = []} = controller;
  const sources = new Sources(world, name);
  for (const source of reads) sources.informer(source);
  const offers = offered();
  const run = await controller.create({
    ...contextOf(world, controller, await clientOf(world, controller, life), sources, life),
    ...offers.context,
  });
  sources.close();
  return {name, ...offers.built(), whenSynced: signal => sources.whenSynced(signal), run};
};

/** Builds a controller: its handlers are registered, its informers asked for, nothing runs yet. */
export const build = (controller: Controller, world: World, life: Life): Promise<BuiltController> =>
  controller.shape === 'keyed' ? buildKeyed(controller, world, life) : buildRunning(controller, world, life);
