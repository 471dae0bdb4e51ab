import type {KubeObject} from '#src/api/types.js';
import type {Meter} from '#src/base/meter.js';
import type {StoredRecord} from '#src/storage/store.js';
import {labelsJson} from './record.js';

/** How many bytes may be taken by what is known beside the objects of a server. */
export const defaultSelectionBytes = 64 << 20;

/** Beyond the bound, so large a part of it is made free at once. */
const freedPart = 1 / 8;

/** What an entry takes besides its texts, about. */
const entryBytes = 200;

/** What labels take for each byte of their JSON, about: the text by which they are recognized, and the object. */
const labelsWeight = 4;

/** What a text or a number takes besides what it holds, about. */
const fieldBytes = 32;

/** So many sets of labels of a collection are recognized; later ones that equal forgotten ones are kept twice. */
const mostLabelSets = 10_000;

export type Labels = Readonly<Record<string, string>>;

/** The cells of a row as JSON. Where a cell tells how long ago a time was, there is a mark in it; `times` are those times, in order. */
export interface RowText {
  readonly text: string;
  readonly times: readonly number[];
}

/** What selectors and tables look at of an object. */
export class RecordAttributes {
  readonly revision: number;
  /** The same value for all objects of a collection with the same labels. */
  readonly labels: Labels | undefined;
  /** The values of the fields its kind can be selected by, in the order of the resource's getters. Known once somebody selected by one. */
  fields: readonly string[] | undefined = undefined;
  /** Known once a table was asked for; null where the cells cannot be kept. */
  row: RowText | null | undefined = undefined;
  /** What it counts for in the bound. */
  bytes = 0;

  constructor(revision: number, labels: Labels | undefined) {
    this.revision = revision;
    this.labels = labels;
  }
}

/** The bound that the collections of a server have together. Beyond it, what was looked at longest ago goes first. */
export class SelectionCache {
  readonly #maxBytes: number;
  /** The one used last is at the end. */
  readonly #collections = new Set<CollectionAttributes>();
  #bytes = 0;

  constructor(meter: Meter, maxBytes = defaultSelectionBytes) {
    this.#maxBytes = maxBytes;
    meter.observed({name: 'apiserver_selection_cache_bytes', help: 'Bytes taken by labels, selectable fields and table cells that are kept beside stored objects.'}, () => [[{}, this.#bytes]]);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For collections: it was just used, and takes so many bytes more. */
  account(collection: CollectionAttributes, bytes: number): void {
    this.#bytes += bytes;
    this.used(collection);
    if (this.#bytes <= this.#maxBytes) return;
    const target = this.#maxBytes * (1 - freedPart);
    for (const oldest of this.#collections) {
      this.#bytes -= oldest.drop(this.#bytes - target);
      if (this.#bytes <= target) return;
      this.#collections.delete(oldest);
    }
  }

  used(collection: CollectionAttributes): void {
    this.#collections.delete(collection);
    this.#collections.add(collection);
  }
}

/** How the facts of a kind are found. */
export interface AttributesSource {
  /** The getters of all fields that objects can be selected by. */
  readonly getters: readonly ((object: Readonly<KubeObject>) => string)[];
  parse(record: StoredRecord): Readonly<KubeObject>;
  /** The same as far as the getters look at it. */
  parseFields(record: StoredRecord): Readonly<KubeObject>;
  row(object: Readonly<KubeObject>): RowText | null;
}

/**
 * What selectors and tables look at, known beside the bytes of a resource's objects: an object is parsed once for all of them. A key has the facts of one
 * revision; those of an older one are found anew each time. Correct whatever is forgotten.
 */
export class CollectionAttributes {
  readonly #cache: SelectionCache;
  readonly #source: AttributesSource;
  readonly #known = new Map<string, RecordAttributes>();
  /** Labels by their JSON, so that objects with the same ones share them. Counts for the bound by itself, since it outlives the objects. */
  #labelSets = new Map<string, Labels>();
  #labelSetBytes = 0;

  constructor(cache: SelectionCache, source: AttributesSource) {
    this.#cache = cache;
    this.#source = source;
  }

  /** The facts of a record, if they are known. */
  known(key: string, revision: number): RecordAttributes | undefined {
    const attributes = this.#known.get(key);
    return attributes?.revision === revision ? attributes : undefined;
  }

  /** The facts of a record: its labels, which are read without parsing the object. */
  of(record: StoredRecord): RecordAttributes {
    return this.known(record.key, record.revision) ?? this.#keep(record.key, this.#found(record));
  }

  /** The same with the values of fields. */
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

  /** The cells of a record; null where they cannot be kept. */
  rowOf(record: StoredRecord): RowText | null {
    const attributes = this.of(record);
    if (attributes.row !== undefined) return attributes.row;
    const row = (attributes.row = this.#source.row(this.#source.parse(record)));
    if (row) this.#grow(record.key, attributes, row.text.length + fieldBytes * (2 + row.times.length));
    return row;
  }

  /** Says that the collection was looked at. */
  used(): void {
    if (this.#known.size > 0) this.#cache.used(this);
  }

  /** Forgets what was found longest ago, at least so many bytes if there are as many, and tells how many that were. */
  drop(bytes: number): number {
    let dropped = 0;
    for (const [key, attributes] of this.#known) {
      if (dropped >= bytes) break;
      this.#known.delete(key);
      dropped += attributes.bytes;
    }
    return dropped < bytes ? dropped + this.#forgetLabelSets() : dropped;
  }

  #found({key, value, revision}: StoredRecord): RecordAttributes {
    const text = labelsJson(value);
    const shared = text === undefined ? undefined : this.#labelSets.get(text);
    const attributes = new RecordAttributes(revision, shared ?? (text === undefined ? undefined : this.#newLabels(text)));
    attributes.bytes = entryBytes + key.length + (text === undefined || shared ? 0 : labelsWeight * text.length);
    return attributes;
  }

  #newLabels(text: string): Labels {
    const labels = JSON.parse(text) as Labels;
    if (this.#labelSets.size >= mostLabelSets) this.#cache.account(this, -this.#forgetLabelSets());
    this.#labelSets.set(text, labels);
    const bytes = labelsWeight * text.length;
    this.#labelSetBytes += bytes;
    this.#cache.account(this, bytes);
    return labels;
  }

  /** Returns how many bytes that were. */
  #forgetLabelSets(): number {
    const bytes = this.#labelSetBytes;
    this.#labelSets = new Map();
    this.#labelSetBytes = 0;
    return bytes;
  }

  /** More is known of a key. */
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
