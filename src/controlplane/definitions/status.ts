import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import type {Writer} from '#src/runtime/writer.js';

/** A definition in a cache. */
export type Cached = Frozen<ObjectOf<typeof kinds.customResourceDefinitions>>;

/** A definition whose status may be changed; its schemas, which may be large, are shared with the cache. */
export const withOwnStatus = (cached: Cached): Definition =>
  ({...cached, ...(cached.status ? {status: {...cached.status}} : {})}) as Definition;

/**
 * Writes the status of a definition. Does nothing when it was changed or deleted meanwhile, whose event triggers the
 * next reconcile.
 */
export const writeStatus = async (
  writer: Pick<Writer<Definition>, 'updateStatus'>,
  definition: Definition,
): Promise<Definition | undefined> => {
  try {
    return await writer.updateStatus(definition);
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return undefined;
    throw error;
  }
};
