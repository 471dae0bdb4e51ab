// Caches labels, selectable fields and table cells beside the records, so that selectors and tables do not parse
// objects. It never holds whole objects.

import type {KubeObject} from '#src/api/types.js';
import type {Meter} from '#src/base/meter.js';
import type {StoredRecord} from '#src/storage/store.js';
import {labelsJson} from './record.js';

/** The default bound of the cached attributes of a server. */
export const defaultSelectionBytes = 64 << 20;

/** The fraction of the bound that is freed at once when it is exceeded. */
const evictedFraction = 1 / 8;

/** The approximate size of an entry without its texts. */
const entryBytes = 200;

/** The approximate size of labels per byte of their JSON: the text as a key, and the object. */
const labelsWeight = 4;

/** The approximate overhead of a string or number. */
const fieldBytes = 32;

/** How many label sets of a collection are shared; beyond that all are dropped, and equal ones may be held twice. */
const maxLabelSets = 10_000;

export type Labels = Readonly<Record<string, string>>;

/** The start of a row as JSON: between each two of its parts is the duration since one of the times. */
export interface RowText {
  readonly parts: readonly string[];
  readonly times: readonly number[];
}

/** What a table shows of a record without parsing it. */
export interface RecordRow extends RowText {
  /** The offset after its metadata. */
  readonly metadataEnd: number;
}

/** The attributes of an object for selectors and tables. */
export class RecordAttributes {
  readonly revision: number;
  /** Shared by all objects of a collection with the same labels. */
  readonly labels: Labels | undefined;
  /**
   * The values of the selectable fields, in the order of the resource's getters. Set by the first field selector that
   * needs them.
   */
  fields: readonly string[] | undefined = undefined;
  /** Set by the first table; null if the cells cannot be cached. */
  row: RecordRow | null | undefined = undefined;
  /** Its size for the bound. */
  bytes = 0;

  constructor(revision: number, labels: Labels | undefined) {
    this.revision = revision;
    this.labels = labels;
  }
}

/**
 * The common bound of the collections of a server. When it is exceeded, the least recently used collections are evicted
 * first.
 */
export class SelectionCache {
  readonly #maxBytes: number;
  /** The most recently used one is last. */
  readonly #collections = new Set<CollectionAttributes>();
  #latest: CollectionAttributes | undefined;
  #bytes = 0;

  constructor(meter: Meter, maxBytes = defaultSelectionBytes) {
    this.#maxBytes = maxBytes;
    meter.observed(
      {
        name: 'apiserver_selection_cache_bytes',
        help: 'Bytes taken by labels, selectable fields and table cells that are kept beside stored objects.',
      },
      () => [[{}, this.#bytes]],
    );
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Called by a collection that was used and has grown by `bytes`. */
  account(collection: CollectionAttributes, bytes: number): void {
    this.#bytes += bytes;
    this.touch(collection);
    if (this.#bytes <= this.#maxBytes) return;
    const target = this.#maxBytes * (1 - evictedFraction);
    for (const oldest of this.#collections) {
      this.#bytes -= oldest.evict(this.#bytes - target);
      if (this.#bytes <= target) return;
      this.#collections.delete(oldest);
      if (oldest === this.#latest) this.#latest = undefined;
    }
  }

  touch(collection: CollectionAttributes): void {
    if (collection === this.#latest) return;
    this.#collections.delete(collection);
    this.#collections.add(collection);
    this.#latest = collection;
  }
}

/** Computes the attributes of the objects of a kind. */
export interface AttributesSource {
  /** The getters of all selectable fields. */
  readonly getters: readonly ((object: Readonly<KubeObject>) => string)[];
  /** Returns at least the part of the object that the getters read. */
  parseFields(record: StoredRecord): Readonly<KubeObject>;
  row(record: StoredRecord): RecordRow | null;
}

/**
 * The cached attributes of a resource's objects for selectors and tables, so that an object is parsed once for all of
 * them. A key has the attributes of one revision; those of older revisions are computed each time. Any entry can be
 * evicted at any time.
 */
export class CollectionAttributes {
  readonly #cache: SelectionCache;
  readonly #source: AttributesSource;
  readonly #known = new Map<string, RecordAttributes>();
  /** Labels by their JSON, shared by objects with equal labels. Counted separately, since they outlive the objects. */
  #labelSets = new Map<string, Labels>();
  #labelSetBytes = 0;

  constructor(cache: SelectionCache, source: AttributesSource) {
    this.#cache = cache;
    this.#source = source;
  }

  /** Returns the attributes of a record if they are cached. */
  known(key: string, revision: number): RecordAttributes | undefined {
    const attributes = this.#known.get(key);
    return attributes?.revision === revision ? attributes : undefined;
  }

  /** Returns the attributes of a record with its labels, which are read without parsing the object. */
  of(record: StoredRecord): RecordAttributes {
    return this.known(record.key, record.revision) ?? this.#keep(record.key, this.#read(record));
  }

  /** Returns the attributes of a record with labels and the values of selectable fields. */
  withFields(record: StoredRecord): RecordAttributes {
    const attributes = this.of(record);
    if (attributes.fields) return attributes;
    const object = this.#source.parseFields(record);
    attributes.fields = this.#source.getters.map(getter => getter(object));
    let bytes = 0;
    for (const field of attributes.fields) bytes += field.length + fieldBytes;
    this.#grow(record.key, attributes, bytes);
    return attributes;
  }

  /** Returns the cells of a record; null if they cannot be cached. */
  rowOf(record: StoredRecord): RecordRow | null {
    const attributes = this.of(record);
    if (attributes.row !== undefined) return attributes.row;
    const row = (attributes.row = this.#source.row(record));
    if (!row) return null;
    let bytes = fieldBytes * (3 + row.times.length);
    for (const part of row.parts) bytes += part.length + fieldBytes;
    this.#grow(record.key, attributes, bytes);
    return row;
  }

  /** Marks the collection as recently used. */
  touch(): void {
    if (this.#known.size > 0) this.#cache.touch(this);
  }

  /** Empties the cache: keys and revisions stand for other records now. */
  clear(): void {
    this.#cache.account(this, -this.evict(Infinity));
  }

  /** Evicts the oldest entries, at least `bytes` if there are as many. Returns the number of bytes freed. */
  evict(bytes: number): number {
    let dropped = 0;
    for (const [key, attributes] of this.#known) {
      if (dropped >= bytes) break;
      this.#known.delete(key);
      dropped += attributes.bytes;
    }
    return dropped < bytes ? dropped + this.#dropLabelSets() : dropped;
  }

  #read({key, value, revision}: StoredRecord): RecordAttributes {
    const text = labelsJson(value);
    const shared = text === undefined ? undefined : this.#labelSets.get(text);
    const attributes = new RecordAttributes(revision, shared ?? (text === undefined ? undefined : this.#newLabels(text)));
    attributes.bytes = entryBytes + key.length + (text === undefined || shared ? 0 : labelsWeight * text.length);
    return attributes;
  }

  #newLabels(text: string): Labels {
    const labels = JSON.parse(text) as Labels;
    if (this.#labelSets.size >= maxLabelSets) this.#cache.account(this, -this.#dropLabelSets());
    this.#labelSets.set(text, labels);
    const bytes = labelsWeight * text.length;
    this.#labelSetBytes += bytes;
    this.#cache.account(this, bytes);
    return labels;
  }

  /** Returns the number of bytes freed. */
  #dropLabelSets(): number {
    const bytes = this.#labelSetBytes;
    this.#labelSets = new Map();
    this.#labelSetBytes = 0;
    return bytes;
  }

  /** Accounts for attributes that were added to an entry. */
  #grow(key: string, attributes: RecordAttributes, bytes: number): void {
    attributes.bytes += bytes;
    if (this.#known.get(key) === attributes) this.#cache.account(this, bytes);
  }

  #keep(key: string, attributes: RecordAttributes): RecordAttributes {
    const before = this.#known.get(key);
    if (before && before.revision > attributes.revision) return attributes;
    this.#known.set(key, attributes);
    this.#cache.account(this, attributes.bytes - (before?.bytes ?? 0));
    return attributes;
  }
}
