import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Mutable, StatusOf, Stored} from './objects.js';

/** The inputs of a status change. */
export interface StatusContext<T extends KubeObject = KubeObject> {
  /** The object as it was read. */
  readonly object: Stored<T>;
  /** The current time in ms since the epoch. */
  readonly now: number;
}

/**
 * Changes the draft of a status, or returns the next status. Fields may be absent: a new object has none. Declared as a
 * method (bivariant), so that `setCondition` fits every kind.
 */
export type StatusChange<T extends KubeObject = KubeObject> = {
  of(status: Mutable<Partial<StatusOf<T>>>, context: StatusContext<T>): Frozen<Partial<StatusOf<T>>> | void;
}['of'];
