import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {held, type Clock} from '#src/base/clock.js';
import {parseJson} from '#src/base/json.js';
import {parsedInSteps} from '#src/base/json-steps.js';
import {Lru} from '#src/base/lru.js';
import {runStepsInPieces} from '#src/base/steps.js';
import {Pieces} from '#src/base/turn.js';
import {recordJson, recordObject} from './record.js';

/** Freezes an object and all it holds, so that it can be shared. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) deepFreeze(value[key]);
  return value;
};

const bound = new CacheBound('objects', 64 << 20);

/** A parsed object takes about so many times its JSON. */
const bytesOfText = 3;

/** Parsing and freezing a record beyond this would keep others waiting. */
export const longRecordBytes = 128 << 10;

interface Known {
  readonly revision: number;
  readonly object: KubeObject;
  readonly bytes: number;
}

/** The parsed, frozen form of records, shared by everyone in the process; holds the most recent of them. */
export class ObjectCache {
  readonly #objects = new Lru<string, Known>(bound, {bytesOf: ({bytes}) => bytes, maxEntries: 4096});
  /** Long records that are being parsed, by key and revision. */
  readonly #inWork = new Map<string, Promise<KubeObject>>();

  /** The object of a record, if it is remembered. */
  peek(key: string, revision: number): KubeObject | undefined {
    const known = this.#objects.get(key);
    return known?.revision === revision ? known.object : undefined;
  }

  /** The object of a record. The same record yields the same frozen value while it is remembered. */
  of(key: string, value: Buffer, revision: number): KubeObject {
    const known = this.#objects.get(key);
    if (known?.revision === revision) return known.object;
    return this.#keep(key, value, revision, deepFreeze(recordObject(value, revision)));
  }

  /** The object of a long record, parsed in pieces with a turn of the event loop for everybody else in between. Undefined where `of` has it at once. */
  inPieces(key: string, value: Buffer, revision: number, clock: Clock): Promise<KubeObject> | undefined {
    if (value.length < longRecordBytes || this.peek(key, revision)) return undefined;
    const id = `${key} ${revision}`;
    let work = this.#inWork.get(id);
    if (work) return work;
    work = held(clock, () => runStepsInPieces(parsedInSteps(recordJson(value, revision, '', ''), {freezes: true, parse: parseJson}), new Pieces(clock)))
      .then(object => this.#keep(key, value, revision, object as KubeObject))
      .finally(() => this.#inWork.delete(id));
    this.#inWork.set(id, work);
    return work;
  }

  #keep(key: string, value: Buffer, revision: number, object: KubeObject): KubeObject {
    const known = this.#objects.get(key);
    if (!known || known.revision < revision) this.#objects.set(key, {revision, object, bytes: bytesOfText * value.length});
    return object;
  }
}
