import {ignoreElements, type Observable} from 'rxjs';
import {apiVersionOf} from '#src/api/kinds/index.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Clock} from '#src/base/clock.js';
import type {Client, ListOptions, ResourceClient, WatchOptions} from '#src/client/client.js';
import {afterDelay} from './timing.js';
import type {ResolvedSelection} from './selection.js';

/** The list and watch calls of an informer. */
export interface ListerWatcher<T extends KubeObject> {
  list(options: ListOptions): Promise<KubeList<T>>;
  watch(options: WatchOptions): Observable<WatchEvent<T>>;
  /**
   * The annotations of which one marks the bookmark behind the objects that a watch begins with; if missing, these are
   * listed.
   */
  readonly initialEventsEnd?: readonly string[] | undefined;
  /** Returns whether watches fail by themselves when their connection is dead; if missing, they do. */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}

/** Returns the calls for a selection, through `client`. */
export const listerWatcher = <T extends KubeObject>(
  client: Client,
  {kind, namespace, labelSelector, fieldSelector, metadataOnly}: ResolvedSelection<T>,
): ListerWatcher<T> => {
  // `T` is then only used for its metadata, which every kind has.
  const resource = metadataOnly ? (client.metadata(kind) as ResourceClient<T>) : client.resource(kind);
  const chosen = {...(namespace ? {namespace} : {}), ...(labelSelector ? {labelSelector} : {}), ...(fieldSelector ? {fieldSelector} : {})};
  return {
    list: options => resource.list({...options, ...chosen}),
    watch: options => resource.watch({...options, ...chosen}),
    initialEventsEnd: client.watchList ? client.naming.annotations.initialEventsEnd : undefined,
    isProbed: client.isProbed,
  };
};

/** Shorter than the silence after which a connection counts as dead. */
const quietMs = 200_000;

/** Returns calls for a kind that the server's release does not have: empty lists, and watches without events. */
export const emptyListerWatcher = <T extends KubeObject>(
  {naming}: Client,
  {kind}: ResolvedSelection<T>,
  clock: Clock,
): ListerWatcher<T> => ({
  list: () => Promise.resolve({apiVersion: apiVersionOf(naming, kind), kind: kind.listKind, metadata: {resourceVersion: '0'}, items: []}),
  watch: () => afterDelay(clock, quietMs).pipe(ignoreElements()),
  isProbed: () => Promise.resolve(true),
});
