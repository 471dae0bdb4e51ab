import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {Cache} from '#informers/cache.js';
import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Plane} from '#src/plane/plane.js';
import type {Attempt, KeyedContext} from '#src/runtime/controller.js';
import {writerOf} from '#src/runtime/writer.js';
import {runSteps} from '#src/base/steps.js';

/** A cache that stays as it is, whatever the server has come to hold. */
const frozenCache = <T extends KubeObject>(objects: readonly Frozen<T>[]): Lister<T> => {
  const cache = new Cache<T>();
  runSteps(cache.replacing(objects));
  return cache;
};

const kindOf = (source: Source): string => (typeof source.kind === 'string' ? source.kind : source.kind.kind);

/**
 * The context of a reconcile whose caches hold these objects, each under its kind; it writes to the plane's server as
 * administrator. The signal ends what it watches.
 */
export const contextOver = <O, C extends KubeObject = KubeObject>(
  plane: Plane & {readonly clock: VirtualClock},
  cached: readonly Frozen<C>[],
  options: O,
  signal: AbortSignal = new AbortController().signal,
): KeyedContext<O> => {
  const client = plane.client();
  return {
    name: 'tried',
    lister: <T extends KubeObject>(source: Source<T>) =>
      frozenCache(cached.filter(({kind}) => (kind ?? kindOf(source)) === kindOf(source))) as unknown as Lister<T>,
    listen() {},
    writer: kind => writerOf(client, kind),
    client,
    informers: undefined as never,
    clock: plane.clock,
    random: seededRandom(1),
    files: systemFiles,
    log: noLog,
    meter: noMeter,
    events: {normal() {}, warning() {}},
    naming: plane.naming,
    options,
    gates: {enabled: () => false},
    serverAuthority: '',
    signal,
    healthCheck() {},
    debugPages() {},
    recordedAs: (_, act) => act(),
    enqueue() {},
    enqueueAll() {},
  };
};

/** A first look. */
export const attempt: Attempt = {log: noLog, retries: 0, signal: new AbortController().signal, pause: () => Promise.resolve()};
