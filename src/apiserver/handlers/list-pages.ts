import type {ApiResponse, PagedBody} from '#src/api/exchange.js';
import {expired} from '#src/api/status.js';
import type {ListMeta} from '#src/api/types.js';
import {Compacted} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import type {Listed} from '#src/apiserver/registry/list.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import {listJson, wholeListJson} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/registry.js';
import {bytesOf, encoded} from './encode.js';
import {listText, type ListText} from './list-text.js';

/** A list to be answered with. */
export interface ShownList {
  readonly resource: Resource;
  readonly shown: Representation;
  readonly listed: Listed;
  readonly meta: ListMeta;
  readonly pretty: boolean;
}

/** The answer that carries a list: at once where it is small, else page by page. */
export const listResponse = (list: ShownList): ApiResponse => ({status: 200, headers: {}, body: list.listed.isWhole ? wholeBody(list) : new ListPages(list)});

const wholeBody = (list: ShownList): ApiResponse['body'] => {
  const {listed: {first}, shown, pretty} = list;
  const whole = () => partOf(list, first);
  const item = itemTextOf(list);
  if (item) return {kind: 'object', contentType: shown.accepted.contentType, bytes: () => Buffer.from(`${itemsOpen(list)}${first.map(item).join(',')}${rawClose}`), object: whole};
  if (!isRaw(list)) return encoded(shown.accepted, whole, pretty);
  return {kind: 'object', contentType: 'application/json', bytes: () => rawPart(list, first, rawOpen(list), rawClose), object: whole};
};

const isRaw = ({shown, pretty}: ShownList): boolean => shown.raw && !pretty;

const itemTextOf = ({shown, pretty}: ShownList): Representation['itemText'] => (pretty ? undefined : shown.itemText);

/** How a list begins whose items are last in it. */
const itemsOpen = ({shown, meta}: ShownList): string => JSON.stringify(shown.list([], meta)).slice(0, -2);

/** A list of some of the objects. */
const partOf = ({resource, shown, meta}: ShownList, records: readonly StoredRecord[]): unknown => shown.list(records.map(record => objectOf(resource, record)), meta);

const rawClose = ']}\n';

const rawOpen = ({resource: {definition}, shown: {listKind}, meta}: ShownList): string =>
  `{"kind":${JSON.stringify(listKind.kind)},"apiVersion":${JSON.stringify(listKind.apiVersion)},"metadata":${JSON.stringify(definition.custom ? {continue: '', ...meta} : meta)},"items":[`;

/** A list as bytes: the stored items with their revisions put in, nothing parsed. */
const rawPart = ({resource: {definition}}: ShownList, records: readonly StoredRecord[], before: string, after: string): Buffer =>
  (definition.custom ? wholeListJson : listJson)(records, before, after);

class ListPages implements PagedBody {
  readonly kind = 'pages';
  readonly contentType: string;
  readonly #list: ShownList;
  #pages: AsyncGenerator<Buffer, undefined> | undefined;
  #closed = false;

  constructor(list: ShownList) {
    this.#list = list;
    this.contentType = isRaw(list) ? 'application/json' : list.shown.accepted.contentType;
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#closed) return undefined;
    this.#pages ??= this.#begin();
    try {
      return (await this.#pages.next()).value;
    } catch (error) {
      throw readable(error);
    }
  }

  async object(): Promise<unknown> {
    let whole: Record<string, unknown> | undefined;
    try {
      for await (const records of this.#list.listed.pieces()) {
        const part = partOf(this.#list, records) as Record<string, unknown>;
        if (whole) itemsOf(whole).push(...itemsOf(part));
        else whole = part;
      }
    } catch (error) {
      throw readable(error);
    }
    return whole;
  }

  close(): void {
    this.#closed = true;
  }

  #begin(): AsyncGenerator<Buffer, undefined> {
    if (isRaw(this.#list)) return rawPages(this.#list);
    const item = itemTextOf(this.#list);
    if (item) return itemPages(this.#list, item);
    const {shown: {accepted}, pretty} = this.#list;
    return textPages(this.#list, listText(accepted, encodedPart(this.#list, []), pretty || accepted.pretty === true));
  }
}

const itemsOf = (list: Record<string, unknown>): unknown[] => (list['rows'] ?? list['items']) as unknown[];

/** What a reader is told whose list is no longer kept. */
const readable = (error: unknown): unknown => (error instanceof Compacted ? expired('The resourceVersion for the provided list is too old.') : error);

const encodedPart = (list: ShownList, records: readonly StoredRecord[]): Buffer => bytesOf(list.shown.accepted, partOf(list, records), list.pretty || list.shown.accepted.pretty === true);

async function* rawPages(list: ShownList): AsyncGenerator<Buffer, undefined> {
  let before = rawOpen(list);
  for await (const records of list.listed.pieces()) {
    yield rawPart(list, records, before, '');
    before = ',';
  }
  yield Buffer.from(rawClose);
}

async function* itemPages(list: ShownList, item: (record: StoredRecord) => string): AsyncGenerator<Buffer, undefined> {
  let before = itemsOpen(list);
  for await (const records of list.listed.pieces()) {
    yield Buffer.from(`${before}${records.map(item).join(',')}`);
    before = ',';
  }
  yield Buffer.from(rawClose);
}

async function* textPages(list: ShownList, text: ListText): AsyncGenerator<Buffer, undefined> {
  let total = 0;
  if (text.needs) for await (const records of list.listed.pieces()) total += text.needs === 'count' ? records.length : text.part(encodedPart(list, records)).length;
  let before = text.open(total);
  for await (const records of list.listed.pieces()) {
    yield Buffer.concat([before, text.part(encodedPart(list, records))]);
    before = Buffer.from(text.separator);
  }
  yield text.close;
}
