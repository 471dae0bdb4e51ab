// The cache of parsed objects. Objects are frozen, since every reader shares them; a reader that changes one clones it
// first.

import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {parseJson} from '#src/base/json/json.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {Lru} from '#src/base/lru.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {StoredRecord} from '#src/storage/store.js';
import {asParsed} from './as-parsed.js';
import {parsedBytes, recordJson, recordObject} from './record.js';
import type {SharedObjects} from './shared-objects.js';

/** Returns a value after freezing it recursively, so that it can be shared. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) deepFreeze(value[key]);
  return value;
};

const bound = new CacheBound('objects', 24 << 20, {idleBytes: 8 << 20});

/** Longer records are parsed in steps, since parsing them at once would block the event loop. */
export const longRecordBytes = 128 << 10;

interface CachedObject {
  readonly revision: number;
  readonly object: KubeObject;
  readonly bytes: number;
}

/** An object whose record is being written. */
interface ObjectInWriting {
  readonly value: Buffer;
  readonly object: KubeObject;
}

/** A cache of the most recently used parsed and frozen objects of a resource, shared within the process. */
export class ObjectCache {
  readonly #objects = new Lru<string, CachedObject>(bound, {bytesOf: ({bytes}) => bytes, maxEntries: 4096});
  /** Long records being parsed, by key and revision. */
  readonly #parsing = new Map<string, Promise<KubeObject>>();
  /** The objects whose records are being written, by key. */
  readonly #writing = new Map<string, ObjectInWriting>();
  readonly #shared: SharedObjects | undefined;

  /** `shared` are objects of other servers, which may be taken instead of parsing their records. */
  constructor(shared?: SharedObjects) {
    this.#shared = shared;
  }

  /** Returns the object of a record if it is cached. */
  peek(key: string, revision: number): KubeObject | undefined {
    const known = this.#objects.get(key);
    return known?.revision === revision ? known.object : undefined;
  }

  /**
   * Shares an object while its record is written: watches within the process, which get the change before the write has
   * ended, take the object instead of parsing the record. The object must not change any more; `endWriting` follows. A
   * long object is not shared: checking and freezing it would block the event loop.
   */
  beginWriting(key: string, value: Buffer, object: KubeObject): void {
    this.#writing.set(key, {value, object});
  }

  /** Called when the write has ended, with or without success. */
  endWriting(key: string, value: Buffer): void {
    if (this.#writing.get(key)?.value === value) this.#writing.delete(key);
  }

  /**
   * Returns the frozen metadata of a record that is being written, for watches that take nothing else: the object as a
   * whole is then neither checked nor kept. Undefined for other records.
   */
  metadataInWriting({key, value, revision}: Pick<StoredRecord, 'key' | 'value' | 'revision'>): KubeObject['metadata'] {
    const writing = this.#writing.get(key);
    if (writing?.value !== value || value.length >= longRecordBytes) return undefined;
    return deepFreeze({...asParsed(writing.object.metadata), resourceVersion: String(revision)});
  }

  /** Returns the object of a record: the same frozen value while it is cached. */
  of(key: string, value: Buffer, revision: number): KubeObject {
    const known = this.#objects.get(key);
    if (known?.revision === revision) return known.object;
    return this.#inWriting(key, value, revision) ?? this.#keep(key, value, revision, this.#parsed(value, revision));
  }

  /**
   * Parses the object of a long record in steps that yield to the event loop. Returns undefined for records that are
   * short or cached, which `of` returns at once.
   */
  inPieces(key: string, value: Buffer, revision: number, clock: Clock): Promise<KubeObject> | undefined {
    if (value.length < longRecordBytes || this.peek(key, revision)) return undefined;
    const id = `${key} ${revision}`;
    let work = this.#parsing.get(id);
    if (work) return work;
    work = withClockHeld(clock, () =>
      runStepsYielding(parseInSteps(recordJson(value, revision, '', ''), {freezes: true, parse: parseJson}), new Yielder(clock)),
    )
      .then(parsed => {
        const object = parsed as KubeObject;
        return this.#parsing.get(id) === work ? this.#keep(key, value, revision, object) : object;
      })
      .finally(() => {
        if (this.#parsing.get(id) === work) this.#parsing.delete(id);
      });
    this.#parsing.set(id, work);
    return work;
  }

  /**
   * Returns an object of its own for a record, which may be changed: in steps that yield to the event loop if the
   * record is long; undefined for one that is short.
   */
  copyInPieces(value: Buffer, revision: number, clock: Clock): Promise<KubeObject> | undefined {
    if (value.length < longRecordBytes) return undefined;
    const parsed = parseInSteps(recordJson(value, revision, '', ''), {parse: parseJson}) as Steps<KubeObject>;
    return withClockHeld(clock, () => runStepsYielding(parsed, new Yielder(clock)));
  }

  /** Empties the cache: keys and revisions stand for other objects now, or nobody reads them any more. */
  clear(): void {
    this.#objects.clear();
    this.#parsing.clear();
  }

  /** Returns the object of a record, made from the one that was written. */
  written(key: string, value: Buffer, revision: number, object: KubeObject): KubeObject {
    return (
      this.peek(key, revision) ??
      (value.length < longRecordBytes ? this.#share(key, value, revision, object) : this.of(key, value, revision))
    );
  }

  /** Returns the object of a record that is being written; undefined for other records. */
  #inWriting(key: string, value: Buffer, revision: number): KubeObject | undefined {
    const writing = this.#writing.get(key);
    if (writing?.value !== value || value.length >= longRecordBytes) return undefined;
    this.#writing.delete(key);
    return this.#share(key, value, revision, writing.object);
  }

  #parsed(value: Buffer, revision: number): KubeObject {
    const parse = () => deepFreeze(recordObject(value, revision));
    return this.#shared ? this.#shared.object(value, revision, parse) : parse();
  }

  #share(key: string, value: Buffer, revision: number, written: KubeObject): KubeObject {
    const {apiVersion, kind, metadata, ...rest} = asParsed(written);
    const object = {kind, apiVersion, metadata: {...metadata, resourceVersion: String(revision)}, ...rest} as KubeObject;
    return this.#keep(key, value, revision, deepFreeze(object));
  }

  #keep(key: string, value: Buffer, revision: number, object: KubeObject): KubeObject {
    const known = this.#objects.get(key);
    if (!known || known.revision < revision) this.#objects.set(key, {revision, object, bytes: parsedBytes(value)});
    return object;
  }
}
