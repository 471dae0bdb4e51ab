import {isGone, StatusError} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {ListOptions, ResourceClient} from './client.js';

/** The number of objects per page. */
const pageSize = 500;

/**
 * A whole collection, read in pages of one and the same revision. Should that revision be compacted on the way, the
 * collection is read again in one piece, so the result is always consistent.
 */
export const listAll = async <T extends KubeObject>(
  resource: Pick<ResourceClient<T>, 'list'>,
  options: ListOptions = {},
): Promise<KubeList<T>> => {
  const limit = options.limit ?? pageSize;
  const first = await resource.list({...options, limit});
  const items = [...first.items];
  for (let next = first.metadata?.continue; next;) {
    try {
      // The continue token determines position and revision; other options must not contradict it.
      const {resourceVersion: _, resourceVersionMatch: __, ...rest} = options;
      const page = await resource.list({...rest, limit, continue: next});
      items.push(...page.items);
      next = page.metadata?.continue;
    } catch (error) {
      if (!isGone(error)) throw error;
      const {limit: _, ...whole} = options;
      return resource.list(whole);
    }
  }
  const {continue: _, remainingItemCount: __, ...metadata} = first.metadata ?? {};
  return {...first, metadata, items};
};

/**
 * Yields a collection page by page, so that only one page of it is in memory. Should the revision of the first page be
 * compacted on the way, the rest is that of the present state.
 */
export async function* pagesOf<T extends KubeObject>(
  resource: Pick<ResourceClient<T>, 'list'>,
  options: Omit<ListOptions, 'continue' | 'resourceVersion' | 'resourceVersionMatch'> = {},
): AsyncGenerator<readonly T[], void> {
  const limit = options.limit ?? pageSize;
  let next: string | undefined;
  do {
    try {
      const page = await resource.list({...options, limit, ...(next ? {continue: next} : {})});
      yield page.items;
      next = page.metadata?.continue;
    } catch (error) {
      const present = isGone(error) && error instanceof StatusError ? error.status.metadata.continue : undefined;
      if (!next || !present) throw error;
      next = present;
    }
  } while (next);
}
