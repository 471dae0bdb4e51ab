import {isDeepStrictEqual} from 'node:util';
import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {andThen, type Eventually} from '#src/base/eventually.js';
import {Lru} from '#src/base/lru.js';
import {encodeRecord, hasField, markOf, recordObject, sameContent, setMark} from '#src/apiserver/registry/record.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {CustomFamily, CustomVersion} from '#src/resources/custom/family.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {Conversion} from './conversion.js';
import type {Translation} from '#src/storage/translated-store.js';

/** Converted records are cached, those of all versions together. */
const bound = new CacheBound('converted_objects', 32 << 20, {idleBytes: 4 << 20});

/**
 * Marks a record that was written by the current definition, and lacks defaults of the storage version: it was written
 * through another version, or without the status, which a creation drops.
 */
const incomplete = 0x8000;

const statusKey = Buffer.from('"status":');

/** Prunes a converted object by the schema of its version. Throws for malformed metadata. */
const pruned = (object: KubeObject, {schema}: CustomVersion): KubeObject => {
  try {
    schema.coerce(object as PlainObject);
    return object;
  } catch (error) {
    throw error instanceof DecodeError ? plainFailure(error.message, error) : error;
  }
};

/**
 * The translation of stored records to one version of a custom resource (KEP-575, KEP-598): a record written by the
 * current definition is used unchanged; any other is pruned, defaulted in its stored version, and converted.
 */
export class RecordTranslation implements Translation {
  readonly #family: CustomFamily;
  readonly #version: CustomVersion;
  readonly #conversion: Conversion;
  readonly #isStored: boolean;
  readonly #known = new Lru<string, Pick<StoredRecord, 'value' | 'isStale'>>(bound, {bytesOf: ({value}) => value.length});

  constructor(family: CustomFamily, version: CustomVersion, conversion: Conversion) {
    this.#family = family;
    this.#version = version;
    this.#conversion = conversion;
    this.#isStored = version === family.stored;
  }

  isCurrent({value}: Pick<StoredRecord, 'value'>): boolean {
    return this.#isStored && markOf(value) === this.#family.mark;
  }

  fromStored(records: readonly StoredRecord[]): Eventually<readonly StoredRecord[]> {
    const result = records.map(record => (this.isCurrent(record) ? record : this.#remember(record)));
    const left = records.flatMap((record, index) => (result[index] ? [] : [{record, index}]));
    if (left.length === 0) return result as StoredRecord[];
    const originals = left.map(({record}) => this.#inOwnVersion(record));
    return andThen(this.#conversion.convert(originals, this.#version.apiVersion), (objects): StoredRecord[] => {
      for (const [at, {record, index}] of left.entries()) result[index] = this.#keep(record, pruned(objects[at]!, this.#version));
      return result as StoredRecord[];
    });
  }

  toStored(value: Buffer): Eventually<Buffer> {
    if (this.#isStored) {
      const {mark} = this.#family;
      setMark(value, this.#lacksStatus(value) ? mark | incomplete : mark);
      return value;
    }
    const object = recordObject<KubeObject>(value, 0);
    delete object.metadata!.resourceVersion;
    const {stored} = this.#family;
    return andThen(this.#conversion.convert([object], stored.apiVersion), ([converted]) => this.#storedRecord(converted!));
  }

  wouldReadBack(value: Buffer): Eventually<Buffer> {
    if (this.#isStored && !this.#lacksStatus(value)) return value;
    const version = this.#version;
    const show = ([converted]: readonly KubeObject[]): Buffer =>
      encodeRecord({...pruned(converted!, version), kind: version.kind.kind, apiVersion: version.apiVersion});
    return andThen(this.toStored(value), record =>
      andThen(this.#conversion.convert([this.#inOwnVersion({value: record, revision: 0})], version.apiVersion), show),
    );
  }

  /** Whether a value of this version has no status though there is a default for it. */
  #lacksStatus(value: Buffer): boolean {
    return (this.#version.schema.source.properties?.['status']?.default ?? null) !== null && !hasField(value, statusKey);
  }

  /** The object of a record in its stored version, pruned and defaulted by that version. */
  #inOwnVersion({value, revision}: Pick<StoredRecord, 'value' | 'revision'>): KubeObject {
    const object = recordObject<KubeObject>(value, revision);
    const own = this.#family.versions.find(({apiVersion}) => apiVersion === object.apiVersion);
    own?.schema.coerce(object as PlainObject, 'drop');
    own?.schema.applyDefaults(object as PlainObject);
    // Objects stored before generations existed have generation 1.
    object.metadata!.generation ||= 1;
    return object;
  }

  #storedRecord(converted: KubeObject): Buffer {
    const {stored, mark} = this.#family;
    pruned(converted, stored);
    const record = encodeRecord({...converted, kind: stored.kind.kind, apiVersion: stored.apiVersion});
    const complete = structuredClone(converted);
    stored.schema.applyDefaults(complete as PlainObject);
    // Readers of the storage version need its defaults.
    setMark(record, isDeepStrictEqual(complete, converted) ? mark : mark | incomplete);
    return record;
  }

  #keep(record: StoredRecord, object: KubeObject): StoredRecord {
    const {kind, apiVersion} = this.#version;
    const value = encodeRecord({...object, kind: kind.kind, apiVersion});
    const isStale = this.#isStored ? !sameContent(value, record.value) : (markOf(record.value) & ~incomplete) !== this.#family.mark;
    const made = {value, ...(isStale ? {isStale} : {})};
    this.#known.set(`${record.key} ${record.revision}`, made);
    return {...record, ...made};
  }

  #remember(record: StoredRecord): StoredRecord | undefined {
    const made = this.#known.get(`${record.key} ${record.revision}`);
    return made && {...record, ...made};
  }
}
