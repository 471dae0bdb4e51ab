/**
 * The empty lists and maps of a body that are omitted from the decoded object, by path; undefined for a value that was ignored. Few rules distinguish
 * empty from absent and look here.
 */
export type Emptied = ReadonlyMap<string, readonly [] | Readonly<Record<string, never>> | undefined>;

const none: Emptied = new Map();
const known = new WeakMap<object, Emptied>();

/** Returns the empty parts of the body that an object was decoded from. */
export const emptiedOf = (object: object | undefined): Emptied => (object && known.get(object)) ?? none;

/** Records the empty parts of an object's body, and returns the object. */
export const withEmptied = <T extends object>(object: T, emptied: Emptied): T => {
  if (emptied.size > 0) known.set(object, emptied);
  return object;
};
