import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {Store, StoreOrigin} from '#src/storage/store.js';
import {parsedBytes} from './record.js';

const bound = new CacheBound('shared_objects', 8 << 20, {idleBytes: 2 << 20});

interface SharedObject {
  readonly object: KubeObject;
  readonly revision: number;
  readonly bytes: number;
}

const byOrigin = new WeakMap<StoreOrigin, SharedObjects>();

/**
 * The parsed objects of the records that several stores share, in servers over stores that were opened with one
 * snapshot: a server that starts on one reads the objects of all others. They are frozen, and known by the buffer of
 * their record and its revision, which stand for nothing else.
 */
export class SharedObjects {
  readonly #origin: StoreOrigin;
  readonly #objects = new Lru<Buffer, SharedObject>(bound, {bytesOf: ({bytes}) => bytes});

  constructor(origin: StoreOrigin) {
    this.#origin = origin;
  }

  /** Returns those of the stores that began as this one did; undefined for a store that began by itself. */
  static of({origin}: Store): SharedObjects | undefined {
    if (!origin) return undefined;
    let shared = byOrigin.get(origin);
    if (!shared) byOrigin.set(origin, (shared = new SharedObjects(origin)));
    return shared;
  }

  /** Returns the frozen object of a record, which `parse` returns if it is not known. */
  object(value: Buffer, revision: number, parse: () => KubeObject): KubeObject {
    if (revision > this.#origin.revision) return parse();
    const known = this.#objects.get(value);
    if (known?.revision === revision) return known.object;
    const object = parse();
    this.#objects.set(value, {object, revision, bytes: parsedBytes(value)});
    return object;
  }
}
