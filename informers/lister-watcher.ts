import type {Observable} from 'rxjs';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Client, ListOptions, ResourceClient, WatchOptions} from '#src/client/client.js';
import type {ResolvedSelection} from './selection.js';

/** The two calls that following a collection takes. */
export interface ListerWatcher<T extends KubeObject> {
  list(options: ListOptions): Promise<KubeList<T>>;
  watch(options: WatchOptions): Observable<WatchEvent<T>>;
  /** Whether a watch ends in an error by itself when its connection is dead; every watch does where this is missing. */
  readonly isProbed?: (() => Promise<boolean>) | undefined;
}

/** The calls for a selection, through `client`. */
export const listerWatcher = <T extends KubeObject>(client: Client, {kind, namespace, labelSelector, fieldSelector, metadataOnly}: ResolvedSelection<T>): ListerWatcher<T> => {
  // Metadata is what every kind of object has.
  const resource = metadataOnly ? (client.metadata(kind) as ResourceClient<T>) : client.resource(kind);
  const chosen = {...(namespace ? {namespace} : {}), ...(labelSelector ? {labelSelector} : {}), ...(fieldSelector ? {fieldSelector} : {})};
  return {
    list: options => resource.list({...options, ...chosen}),
    watch: options => resource.watch({...options, ...chosen}),
    isProbed: client.isProbed,
  };
};
