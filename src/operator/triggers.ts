// The changes that queue keys of a controller, and their priority.

import {isOnlyListed, type Change} from '#informers/change.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {controllerKey} from '#src/runtime/watches.js';
import type {Caches} from './caches.js';
import type {Predicate} from './triggers/predicates.js';
import {MappingRetries, type Mapped} from './triggers/mapping-retries.js';
import {partsOf, type ManagerScope} from './scope.js';
import {clusterOf, kindOf, type Source} from './sources.js';
import {keysIn, statesOf, type Watch} from './watches.js';

/** The part of a declaration that defines which changes queue keys. */
interface Triggers<T extends KubeObject> {
  readonly for: Source<T>;
  readonly when?: Predicate<T>;
  readonly owns?: readonly Source[];
  readonly watches?: readonly Watch[];
}

interface TriggerParts {
  readonly caches: Caches;
  readonly scope: ManagerScope;
}

/** Returns requests with low priority: keys of actual changes are reconciled first. */
export const lowPriorityRequests = (objects: readonly Frozen<KubeObject>[]) =>
  objects.map(object => ({key: keyOf(object), afterMs: 0, priority: 'low', cause: () => 'all keys'}) as const);

/**
 * Queues keys for changes of all sources. Objects of the initial list and resyncs have low priority. Returns where
 * mappings are retried.
 */
export const registerWatches = <T extends KubeObject>(
  definition: Triggers<T>,
  {caches, scope}: TriggerParts,
  context: KeyedContext,
): MappingRetries => {
  const primary = definition.for as Source;
  const {enqueue} = context;
  const {naming} = scope.clusters?.[clusterOf(primary) ?? ''] ?? context;
  const retries = new MappingRetries({
    ...context,
    everything() {
      for (const request of lowPriorityRequests(caches.list(primary))) enqueue(request.key, request);
    },
  });
  const listen = (
    source: Source,
    when: Predicate | undefined,
    keys: (change: Change) => Iterable<ObjectKey>,
    listed?: (objects: readonly Frozen<KubeObject>[]) => void,
  ) => {
    const {kind} = kindOf(source);
    const listener = (change: Change) => {
      if (when && !when(change)) return;
      const priority = isOnlyListed(change) ? 'low' : 'normal';
      for (const key of keys(change)) enqueue(key, {priority, cause: () => causeOf(change, kind)});
    };
    const changes: Mapped<Change> = {kind, map: listener, fieldsOf: ({object}) => ({key: keyText(keyOf(object))})};
    for (const part of partsOf(source, scope)) context.listen(part, change => retries.attempt(changes, change), listed);
  };
  const {kind} = kindOf(primary);
  const queueListed = (objects: readonly Frozen<KubeObject>[]) =>
    context.enqueueAll(objects.map(keyOf), {priority: 'low', cause: key => causeText('listed', kind, key)});
  // Without a predicate, which may fail or take long, the keys of a first list are queued together.
  listen(primary, definition.when as Predicate | undefined, change => [keyOf(change.object)], definition.when ? undefined : queueListed);
  for (const source of definition.owns ?? [])
    listen(source, undefined, change => statesOf(change).flatMap(object => controllerKey(object, kindOf(primary), naming) ?? []));
  for (const {source, keys, when} of definition.watches ?? [])
    listen(source, when, change => statesOf(change).flatMap(object => keysIn(keys(object, {caches}))));
  return retries;
};

/** Returns what happened to which object, such as `updated Secret default/key`. */
const causeText = (what: string, kind: string, key: ObjectKey): string => `${what} ${kind} ${keyText(key)}`;

const causeOf = (change: Change, kind: string): string =>
  causeText(isOnlyListed(change) ? 'listed' : change.type, kind, keyOf(change.object));
