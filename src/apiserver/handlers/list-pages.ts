// Sends lists. A small list is one body; a large one is sent page by page, each page encoded from one chunk of records
// that is released afterwards. Stored bytes are sent unchanged where the form allows; otherwise objects are parsed,
// long ones in steps.

import type {ApiResponse, PagedBody} from '#src/api/request.js';
import {expired} from '#src/api/status.js';
import type {KubeObject, ListMeta} from '#src/api/types.js';
import {Compacted} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {ItemsPage} from '#src/apiserver/present/items-page.js';
import {PageMemory} from '#src/apiserver/present/page-memory.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import type {Listed} from '#src/apiserver/registry/read/list.js';
import {longRecordBytes} from '#src/apiserver/registry/object-cache.js';
import {objectOf} from '#src/apiserver/registry/read/read.js';
import {measured, type StepTimes} from '#src/apiserver/request/step-times.js';
import {listJson, wholeListJson} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {bytesOf, encoded} from './encode.js';
import {KeptParts} from './kept-parts.js';
import {listText, type ListText} from './list-text.js';

/** A list to be sent. */
export interface ShownList {
  readonly resource: Resource;
  readonly shown: Representation;
  readonly listed: Listed;
  readonly meta: ListMeta;
  readonly pretty: boolean;
  /** Whether the client takes the list as an object. */
  readonly takesObjects: boolean;
  /** Measures the steps, if their durations are wanted. */
  readonly steps?: StepTimes | undefined;
}

/** The response for a list: at once if it is small, otherwise page by page. */
export const listResponse = (list: ShownList): ApiResponse => ({
  status: 200,
  headers: {},
  body: list.listed.isComplete && !parsesLong(list) && !isLong(list) ? singleBody(list) : new ListPages(list),
});

/** A longer list is sent in pages, whose memory is used again. */
const maxBodyBytes = 256 << 10;

const isLong = (list: ShownList): boolean => {
  if (list.takesObjects || !(isRaw(list) || itemWriterOf(list))) return false;
  let bytes = 0;
  for (const {value} of list.listed.records) bytes += value.length;
  return bytes > maxBodyBytes;
};

/** Whether a record has to be parsed that takes long. */
const parsesLong = (list: ShownList): boolean =>
  (list.takesObjects || !(isRaw(list) || itemWriterOf(list))) && list.listed.records.some(({value}) => value.length >= longRecordBytes);

const singleBody = (list: ShownList): ApiResponse['body'] => {
  const {
    listed: {records},
    shown,
    pretty,
  } = list;
  const whole = () => partOf(list, records);
  const writeItem = itemWriterOf(list);
  if (writeItem)
    return {
      kind: 'object',
      contentType: shown.accepted.contentType,
      bytes: () => itemsPart(writeItem, records, itemsOpen(list), rawClose),
      object: whole,
    };
  if (!isRaw(list)) return encoded(shown.accepted, whole, pretty);
  return {kind: 'object', contentType: 'application/json', bytes: () => rawPart(list, records, rawOpen(list), rawClose), object: whole};
};

const isRaw = ({shown, pretty}: ShownList): boolean => shown.raw && !pretty;

type ItemWriter = NonNullable<Representation['writeItem']>;

const itemWriterOf = ({shown, pretty}: ShownList): ItemWriter | undefined => (pretty ? undefined : shown.writeItem);

/** The beginning of a list whose items come last. */
const itemsOpen = ({shown, meta}: ShownList): string => JSON.stringify(shown.list([], meta)).slice(0, -2);

/** A list of some of the objects; long ones are parsed in steps. */
const partInPieces = async (list: ShownList, records: readonly StoredRecord[]): Promise<unknown> => {
  const {shown, meta, steps} = list;
  const objects = await measured(steps, 'decodeMs', () => objectsOf(list, records));
  return measured(steps, 'transformMs', () => shown.list(objects, meta));
};

const objectsOf = async ({resource, shown}: ShownList, records: readonly StoredRecord[]): Promise<Readonly<KubeObject>[]> => {
  const objects: Readonly<KubeObject>[] = [];
  for (const record of records) {
    const object = shown.metadataText ? resource.metadata(record) : resource.object(record);
    objects.push(await object);
  }
  return objects;
};

/** A list of some of the objects. */
const partOf = ({resource, shown, meta}: ShownList, records: readonly StoredRecord[]): unknown =>
  shown.list(
    records.map(record => (shown.metadataText ? resource.shortMetadata(record) : undefined) ?? objectOf(resource, record)),
    meta,
  );

const rawClose = ']}\n';

const rawOpen = ({resource: {definition}, shown: {listKind}, meta}: ShownList): string =>
  `{"kind":${JSON.stringify(listKind.kind)},"apiVersion":${JSON.stringify(listKind.apiVersion)},"metadata":${JSON.stringify(definition.custom ? {continue: '', ...meta} : meta)},"items":[`;

/** Records of a list, the texts before and after them, and the memory of the list's pages if there is one. */
type Part = readonly [records: readonly StoredRecord[], before: string, after: string, memory?: PageMemory];

/** A list as bytes: the stored items with their resource versions inserted, without parsing. */
const rawPart = ({resource: {definition}}: ShownList, ...[records, before, after, memory]: Part): Buffer =>
  (definition.custom ? wholeListJson : listJson)(records, before, after, memory && (bytes => memory.take(bytes)));

/** About how many bytes a row has besides those that it has of its record. */
const rowBytes = 256;

/** A list as bytes: items that are joined from stored bytes. */
const itemsPart = (writeItem: ItemWriter, ...[records, before, after, memory]: Part): Buffer => {
  let bytes = before.length + after.length;
  for (const {value} of records) bytes += value.length + rowBytes;
  const page = new ItemsPage(bytes, memory);
  page.text(before);
  for (let index = 0; index < records.length; index++) {
    if (index > 0) page.text(',');
    writeItem(page, records[index]!);
  }
  page.text(after);
  return page.finish();
};

class ListPages implements PagedBody {
  readonly kind = 'pages';
  readonly contentType: string;
  readonly #list: ShownList;
  readonly #memory = new PageMemory();
  #pages: Pages | undefined;
  #closed = false;

  constructor(list: ShownList) {
    this.#list = list;
    this.contentType = isRaw(list) ? 'application/json' : list.shown.accepted.contentType;
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#closed) return undefined;
    this.#pages ??= new Pages(this.#list, this.#memory);
    try {
      return await this.#pages.next();
    } catch (error) {
      throw readable(error);
    }
  }

  async object(): Promise<unknown> {
    let whole: Record<string, unknown> | undefined;
    try {
      for await (const records of this.#list.listed.chunks()) {
        const part = (await partInPieces(this.#list, records)) as Record<string, unknown>;
        if (whole) itemsOf(whole).push(...itemsOf(part));
        else whole = part;
      }
    } catch (error) {
      throw readable(error);
    }
    return whole;
  }

  reuse(page: Buffer): void {
    this.#memory.reuse(page);
  }

  close(): void {
    this.#closed = true;
    this.#pages?.[Symbol.dispose]();
    this.#list.listed.close();
    this.#memory.close();
  }

  asJson(): PagedBody {
    const {shown} = this.#list;
    const {pretty: _, ...form} = shown.accepted;
    const accepted = {...form, media: 'json' as const, contentType: 'application/json'};
    return new ListPages({...this.#list, shown: {...shown, accepted}, pretty: false, takesObjects: false});
  }
}

const itemsOf = (list: Record<string, unknown>): unknown[] => (list['rows'] ?? list['items']) as unknown[];

/** The error for a list whose revision was compacted. */
const readable = (error: unknown): unknown =>
  error instanceof Compacted ? expired('The resourceVersion for the provided list is too old.') : error;

const encodedList = ({shown: {accepted}, pretty}: ShownList, part: unknown): Buffer =>
  bytesOf(accepted, part, pretty || accepted.pretty === true);

const encodedPart = async (list: ShownList, records: readonly StoredRecord[]): Promise<Buffer> => {
  const part = await partInPieces(list, records);
  return measured(list.steps, 'serializationMs', () => encodedList(list, part));
};

/** The encoding of pages in one form. */
interface PageForm {
  /** The bytes before the first item; called once. */
  open(): Promise<Buffer | string>;
  /** The items of some records, after the given beginning. */
  page(before: Buffer | string, records: readonly StoredRecord[]): Buffer | Promise<Buffer>;
  /** Items that are encoded already: the first of the list. */
  readonly kept?: KeptParts;
  readonly separator: string;
  readonly close: Buffer | string;
}

const pageFormOf = (list: ShownList, memory: PageMemory): PageForm => {
  if (isRaw(list))
    return {
      open: async () => rawOpen(list),
      page: (before, records) => measured(list.steps, 'serializationMs', () => rawPart(list, records, String(before), '', memory)),
      separator: ',',
      close: rawClose,
    };
  const writeItem = itemWriterOf(list);
  if (writeItem)
    return {
      open: async () => itemsOpen(list),
      page: (before, records) => measured(list.steps, 'serializationMs', () => itemsPart(writeItem, records, String(before), '', memory)),
      separator: ',',
      close: rawClose,
    };
  const {
    shown: {accepted},
    pretty,
  } = list;
  return encodedForm(list, listText(accepted, encodedList(list, partOf(list, [])), pretty || accepted.pretty === true));
};

const encodedForm = (list: ShownList, {needs, open, part, separator, close}: ListText): PageForm => {
  const kept = new KeptParts();
  const counted = async (records: readonly StoredRecord[]): Promise<number> => {
    if (needs === 'count') return records.length;
    const encodedItems = part(await encodedPart(list, records));
    kept.add(encodedItems, records.length);
    return encodedItems.length;
  };
  return {
    async open() {
      let total = 0;
      if (needs) for await (const records of list.listed.chunks()) total += await counted(records);
      if (needs === 'length') kept.end();
      return open(total);
    },
    page: async (before, records) => Buffer.concat([Buffer.from(before), part(await encodedPart(list, records))]),
    kept,
    separator,
    close,
  };
};

/** The pages of a list, each made of a chunk that is released afterwards, and its end. */
class Pages implements Disposable {
  readonly #list: ShownList;
  readonly #form: PageForm;
  #pieces: AsyncIterator<readonly StoredRecord[], undefined> | undefined;
  #before: Buffer | string = '';
  /** How many of the next records are among the kept parts. */
  #known = 0;
  #isOpen = false;
  #isOver = false;

  constructor(list: ShownList, memory: PageMemory) {
    this.#list = list;
    this.#form = pageFormOf(list, memory);
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#isOver) return undefined;
    const {open, kept, page, separator, close} = this.#form;
    if (!this.#isOpen) {
      this.#before = await open();
      this.#known = kept?.records ?? 0;
      this.#isOpen = true;
    }
    const before = this.#before;
    const known = kept?.take();
    this.#before = separator;
    if (known) return Buffer.concat([Buffer.from(before), known]);
    const records = kept?.isWhole ? undefined : await this.#records();
    if (records) return page(before, records);
    this.#isOver = true;
    return Buffer.concat([Buffer.from(before === separator ? '' : before), Buffer.from(close)]);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#form.kept?.[Symbol.dispose]();
  }

  /** Returns the next records that are not among the kept parts. */
  async #records(): Promise<readonly StoredRecord[] | undefined> {
    const pieces = (this.#pieces ??= this.#list.listed.chunks());
    for (;;) {
      const {value: records} = await measured(this.#list.steps, 'storageMs', () => pieces.next());
      if (!records || this.#known < records.length) {
        const rest = records?.slice(this.#known);
        this.#known = 0;
        return rest;
      }
      this.#known -= records.length;
    }
  }
}
