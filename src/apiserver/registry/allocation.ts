import type {KubeObject} from '#src/api/types.js';
import type {AllocationContext} from '#src/resources/definition.js';
import type {Resource, WriteContext} from './registry.js';

const contextOf = (resource: Resource, {user, dryRun}: WriteContext): AllocationContext => ({...resource.hooks(user), ...resource.settings.writes.pools, dryRun});

/** Lets the kind take from the pools what the object needs, stores it by `work`, and keeps or gives back what was taken as that went. */
export const allocating = async <T>(resource: Resource, object: KubeObject, old: Readonly<KubeObject> | undefined, context: WriteContext, work: () => Promise<T>): Promise<T> => {
  const {definition} = resource;
  if (!definition.allocate) return work();
  const allocation = await definition.allocate(object, old, contextOf(resource, context));
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

/** Gives back what a removed object held. A dry run removed nothing. */
export const released = async (resource: Resource, object: Readonly<KubeObject>, context: WriteContext): Promise<void> => {
  const {definition} = resource;
  if (definition.released && !context.dryRun) await definition.released(object, contextOf(resource, context));
};
