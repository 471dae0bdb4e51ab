import type {KubeObject} from '#src/api/types.js';
import type {AllocationContext} from '#src/resources/definition.js';
import type {Resource, WriteContext} from '#src/apiserver/registry/registry.js';

const contextOf = (resource: Resource, {user, dryRun}: WriteContext): AllocationContext => ({
  ...resource.hooks(user),
  ...resource.settings.writes.pools,
  dryRun,
});

/** Allocates the addresses and ports an object needs and runs `work`, which stores it. Commits the allocation when `work` succeeds and reverts it when it fails. */
export const withAllocation = async <T>(
  resource: Resource,
  object: KubeObject,
  old: Readonly<KubeObject> | undefined,
  context: WriteContext,
  work: () => Promise<T>,
): Promise<T> => {
  const {definition} = resource;
  if (!definition.allocation) return work();
  const allocation = await definition.allocation.allocate(object, old, contextOf(resource, context));
  let done: T;
  try {
    done = await work();
  } catch (error) {
    await allocation.revert();
    throw error;
  }
  await allocation.commit();
  return done;
};

/** Releases the allocations of a removed object, except in a dry run. */
export const releaseAllocated = async (resource: Resource, object: Readonly<KubeObject>, context: WriteContext): Promise<void> => {
  if (!context.dryRun) await resource.definition.allocation?.release?.(object, contextOf(resource, context));
};
