import {discover, type Discovered, type FoundResource} from '#controllers/shared/discovery.js';
import type {Namespace} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {ContentDeletion} from './conditions.js';
import {isPods, type ContentDeleter, type Leftover} from './content.js';

const podsFirst = (discovered: Discovered | undefined): FoundResource[] => {
  const deletable = (discovered?.resources ?? []).filter(({namespaced, verbs}) => namespaced && verbs.includes('delete'));
  return [...deletable.filter(isPods), ...deletable.filter(resource => !isPods(resource))];
};

/** Deletes what a namespace holds, and returns what is left. */
export const deleteContent = async (
  client: Client,
  content: ContentDeleter,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<ContentDeletion> => {
  const {name = '', deletionTimestamp = ''} = namespace.metadata ?? {};
  const {discovered, discoveryError} = await discover(client).then(
    deletion => ({discovered: deletion, discoveryError: undefined}),
    (error: unknown) => ({discovered: undefined, discoveryError: error}),
  );
  const leftovers: [FoundResource, Leftover][] = [];
  for (const resource of podsFirst(discovered)) {
    signal.throwIfAborted();
    const left = await content.delete(resource, name, deletionTimestamp);
    if (left.count > 0 || left.error !== undefined || left.estimateSeconds > 0) leftovers.push([resource, left]);
    // Pods may need other objects of the namespace to terminate.
    if (isPods(resource) && (left.count > 0 || left.error !== undefined)) break;
  }
  return {discovered, leftovers, ...(discoveryError === undefined ? {} : {discoveryError})};
};
