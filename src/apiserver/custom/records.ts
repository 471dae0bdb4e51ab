import {isDeepStrictEqual} from 'node:util';
import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {andThen, type Eventually} from '#src/base/eventually.js';
import {Lru} from '#src/base/lru.js';
import {encodeRecord, markOf, recordObject, sameContent, setMark} from '#src/apiserver/registry/record.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {CustomFamily, CustomVersion} from '#src/resources/custom/family.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {Conversion} from './conversion.js';
import type {Translation} from '#src/storage/translated-store.js';

/** Converted records are cached, those of all versions together. */
const bound = new CacheBound('converted_objects', 32 << 20, {idleBytes: 4 << 20});

/**
 * Marks a record that was written by the current definition through another version, and may lack defaults of the
 * storage version.
 */
const incomplete = 0x8000;

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
export const translationOf = ({versions, stored, mark}: CustomFamily, version: CustomVersion, conversion: Conversion): Translation => {
  const isStored = version === stored;
  const known = new Lru<string, Pick<StoredRecord, 'value' | 'isStale'>>(bound, {bytesOf: ({value}) => value.length});

  /** The object of a record in its stored version, pruned and defaulted by that version. */
  const inOwnVersion = ({value, revision}: Pick<StoredRecord, 'value' | 'revision'>): KubeObject => {
    const object = recordObject<KubeObject>(value, revision);
    const own = versions.find(({apiVersion}) => apiVersion === object.apiVersion);
    own?.schema.coerce(object as PlainObject, 'drop');
    own?.schema.applyDefaults(object as PlainObject);
    // Objects stored before generations existed have generation 1.
    object.metadata!.generation ||= 1;
    return object;
  };
  const put = (record: StoredRecord, object: KubeObject): StoredRecord => {
    const value = encodeRecord({...object, kind: version.kind.kind, apiVersion: version.apiVersion});
    const isStale = isStored ? !sameContent(value, record.value) : (markOf(record.value) & ~incomplete) !== mark;
    const made = {value, ...(isStale ? {isStale} : {})};
    known.set(`${record.key} ${record.revision}`, made);
    return {...record, ...made};
  };
  const remember = (record: StoredRecord): StoredRecord | undefined => {
    const made = known.get(`${record.key} ${record.revision}`);
    return made && {...record, ...made};
  };
  const isCurrent = ({value}: Pick<StoredRecord, 'value'>): boolean => isStored && markOf(value) === mark;
  const toStored = (value: Buffer): Eventually<Buffer> => {
    if (isStored) {
      setMark(value, mark);
      return value;
    }
    const object = recordObject<KubeObject>(value, 0);
    delete object.metadata!.resourceVersion;
    const finish = ([converted]: readonly KubeObject[]): Buffer => {
      pruned(converted!, stored);
      const record = encodeRecord({...converted!, kind: stored.kind.kind, apiVersion: stored.apiVersion});
      const complete = structuredClone(converted!);
      stored.schema.applyDefaults(complete as PlainObject);
      // Readers of the storage version need its defaults.
      setMark(record, isDeepStrictEqual(complete, converted) ? mark : mark | incomplete);
      return record;
    };
    const converted: Eventually<readonly KubeObject[]> = conversion.convert([object], stored.apiVersion);
    return andThen(converted, finish);
  };
  return {
    isCurrent,
    fromStored(records) {
      const result = records.map(record => (isCurrent(record) ? record : remember(record)));
      const left = records.flatMap((record, index) => (result[index] ? [] : [{record, index}]));
      if (left.length === 0) return result as StoredRecord[];
      const converted = conversion.convert(
        left.map(({record}) => inOwnVersion(record)),
        version.apiVersion,
      );
      const finish = (objects: readonly KubeObject[]): StoredRecord[] => {
        for (const [at, {record, index}] of left.entries()) result[index] = put(record, pruned(objects[at]!, version));
        return result as StoredRecord[];
      };
      return andThen(converted, finish);
    },
    toStored,
    wouldReadBack(value) {
      if (isStored) return value;
      const show = ([converted]: readonly KubeObject[]): Buffer =>
        encodeRecord({...pruned(converted!, version), kind: version.kind.kind, apiVersion: version.apiVersion});
      return andThen(toStored(value), record =>
        andThen(conversion.convert([inOwnVersion({value: record, revision: 0})], version.apiVersion), show),
      );
    },
  };
};
