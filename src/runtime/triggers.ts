import {isOnlyListed, isResync, type Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import {keyOf, keyText, type ObjectKey} from '#src/api/key.js';
import {parseDuration} from '#src/api/duration.js';
import type {Kind} from '#src/api/kinds/index.js';
import {runEvery as repeatEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Priority} from '#src/queue/work-queue.js';
import type {Cause} from '#src/runtime/recording/recorded-attempts.js';
import type {Controller, KeyedController} from './controller.js';
import type {Sources} from './context.js';
import {
  controllerKey,
  sameKey,
  singletonKey,
  type MappedWatch,
  type MapContext,
  type OwnedWatch,
  type PeriodicWatch,
  type EnqueueRequest,
} from './watches.js';

/** Queues a key, of one loop or of all: with a priority if the request has none. */
export type Enqueue = (request: EnqueueRequest, loop: string | undefined, cause: Cause, priority?: Priority) => void;

/** Returns the sources that a controller declares. */
export const sourcesOf = (controller: Controller): readonly Source[] => {
  const {reads = []} = controller;
  if (controller.shape === 'running') return reads;
  const {primary, watches = []} = controller;
  return [...(primary ? [primary] : []), ...reads, ...watches.flatMap(watch => (watch.watch === 'every' ? [] : [watch.source]))];
};

/** Returns the kind of the objects of a source. */
export const kindOf = (source: Source): Kind => (typeof source.kind === 'object' ? source.kind : (source as Kind));

/** The controlling owners before and after a change; a resync concerns none. */
const ownersOf = (change: Change, primary: Kind, {naming}: MapContext): ObjectKey[] => {
  if (isResync(change)) return [];
  const seen = change.type === 'updated' ? [change.old, change.object] : [change.object];
  return seen.map(object => controllerKey(object, primary, naming)).filter(key => key !== undefined);
};

const asMapped = (watch: MappedWatch | OwnedWatch, {name, primary}: KeyedController): MappedWatch => {
  if (watch.watch === 'mapped') return watch;
  if (!primary) throw new Error(`${name} watches what its primary kind owns, but has no primary kind`);
  return {...watch, watch: 'mapped', map: (change, context) => ownersOf(change, kindOf(primary), context)};
};

/**
 * Registers a controller's watches, so that each change queues the keys that it concerns. Keys of objects of first
 * lists and of resyncs have low priority: those of actual changes are reconciled before them, also while a controller
 * begins. Periodic watches begin with `startPeriods`.
 */
export const registerTriggers = (
  controller: KeyedController,
  sources: Sources,
  context: MapContext,
  enqueue: Enqueue,
): {readonly listeners: Disposable[]; readonly startPeriods: (clock: Clock, log: Log, signal: AbortSignal) => void} => {
  const {primary, watches = []} = controller;
  const changes = [
    ...(primary ? [sameKey(primary)] : []),
    ...watches.filter(watch => watch.watch !== 'every').map(watch => asMapped(watch, controller)),
  ];
  const listeners = changes.map(watch =>
    sources.informer(watch.source).listen(change => {
      const priority = isOnlyListed(change) ? 'low' : 'normal';
      let cause: Cause | undefined;
      for (const request of watch.map(change, context))
        enqueue(request, watch.loop, (cause ??= {change, kind: kindOf(watch.source)}), priority);
    }),
  );
  const allKeys = (): Iterable<EnqueueRequest> => (primary ? context.lister(primary).list().map(keyOf) : [singletonKey]);
  const startPeriods = (clock: Clock, log: Log, signal: AbortSignal) => {
    for (const watch of watches) {
      if (watch.watch !== 'every') continue;
      const periodMs = periodOf(watch, context.options);
      if (periodMs <= 0) continue;
      repeatEvery(clock, periodMs, signal, () => {
        try {
          for (const request of watch.keys ? watch.keys(context) : allKeys()) enqueue(request, watch.loop, {type: 'period'});
        } catch (error) {
          log.error({err: error}, 'failed to list the keys of a periodic watch');
        }
      });
    }
  };
  return {listeners, startPeriods};
};

const periodOf = ({period}: PeriodicWatch, options: unknown): number => {
  if (typeof period === 'number') return period;
  if (typeof period === 'function') return period(options as never);
  const ms = parseDuration(period);
  if (ms === undefined) throw new Error(`"${period}" is no duration`);
  return ms;
};

/** Returns the queue item, delay and priority of a request. */
export const toQueueItem = (
  request: EnqueueRequest,
  priority: Priority = 'normal',
): {readonly text: string; readonly afterMs: number; readonly priority: Priority} =>
  'key' in request
    ? {text: keyText(request.key), afterMs: request.afterMs, priority: request.priority ?? priority}
    : {text: keyText(request), afterMs: 0, priority};
