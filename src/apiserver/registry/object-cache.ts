import type {KubeObject} from '#src/api/types.js';
import {recordObject} from './record.js';

/** Freezes an object and all it holds, so that it can be shared. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) deepFreeze(value[key]);
  return value;
};

/** The parsed, frozen form of records, shared by everyone in the process; holds the most recent `capacity` of them. */
export class ObjectCache {
  readonly #capacity: number;
  readonly #objects = new Map<string, {revision: number; object: KubeObject}>();

  constructor(capacity = 4096) {
    this.#capacity = capacity;
  }

  /** The object of a record. The same record yields the same frozen value while it is remembered. */
  of(key: string, value: Buffer, revision: number): KubeObject {
    const known = this.#objects.get(key);
    if (known?.revision === revision) return known.object;
    const object = deepFreeze(recordObject(value, revision));
    if (!known || known.revision < revision) this.#remember(key, revision, object);
    return object;
  }

  #remember(key: string, revision: number, object: KubeObject): void {
    this.#objects.delete(key);
    this.#objects.set(key, {revision, object});
    if (this.#objects.size > this.#capacity) this.#objects.delete(this.#objects.keys().next().value!);
  }
}
