// Presents stored objects to clients: the version, the shape (object, table, metadata) and, where possible, the stored
// bytes themselves. It never changes an object; objects passed in are frozen and shared.

import {jsonText} from '#src/base/json/json.js';
import {agoFrom, humanDuration} from '#src/api/duration.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject, ListMeta} from '#src/api/types.js';
import type {Column} from '#src/resources/definition.js';
import {lazily} from '#src/base/lazily.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {zeroValue} from '#src/schema/decode/zero-value.js';
import {objectOf} from '#src/apiserver/registry/read/read.js';
import {metadataEnd, metadataJson, writeMetadata} from '#src/apiserver/registry/record.js';
import {rowStart} from '#src/apiserver/registry/row-text.js';
import type {Resource, ServedResource} from '#src/apiserver/registry/resource.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';
import type {ItemsPage} from './items-page.js';
import {partialMetadata, tableOf, type IncludeObject} from './table.js';

/** The presentation of a resource's objects to one client: the version and the shape. */
export interface Representation {
  /** Representations with equal keys are equal: an encoded event is shared by all of them. */
  readonly key: string;
  /** Whether stored bytes can be sent unchanged. */
  readonly raw: boolean;
  readonly accepted: Accepted;
  /** One object. */
  one(object: Readonly<KubeObject>): unknown;
  /** The object of a watch event; `first` if it is the first of the stream. */
  event(object: Readonly<KubeObject>, first: boolean): unknown;
  /** A bookmark of a watch: only metadata, and the fields that objects of the kind always have. */
  bookmark(object: Readonly<KubeObject>, first: boolean): unknown;
  list(objects: readonly Readonly<KubeObject>[], meta: ListMeta): unknown;
  /** Writes the JSON of a list item, if it is joined from stored bytes and cached data. */
  readonly writeItem: ((page: ItemsPage, record: StoredRecord) => void) | undefined;
  /** The JSON of an object's metadata, if only that is shown. */
  readonly metadataText: ((record: StoredRecord) => string) | undefined;
  /** Kind and apiVersion of the result of `list` in the plain shape. */
  readonly listKind: {readonly kind: string; readonly apiVersion: string};
}

/** An object in one served version. The hub shows stored objects unchanged. */
const inVersion = ({resource, kind, version}: ServedResource, apiVersion: string, object: Readonly<KubeObject>): Readonly<KubeObject> =>
  version ? {...version.fromHub(object, resource.settings.naming), apiVersion, kind: kind.kind} : object;

/** Representations by the negotiated form, whose cache is bounded. */
const made = new WeakMap<ServedResource, WeakMap<Accepted, Map<IncludeObject, Representation>>>();

/** The representation of a resource in a negotiated form. */
export const representation = (served: ServedResource, accepted: Accepted, includeObject: IncludeObject): Representation => {
  let byAccepted = made.get(served);
  if (!byAccepted) made.set(served, (byAccepted = new WeakMap()));
  let byInclude = byAccepted.get(accepted);
  if (!byInclude) byAccepted.set(accepted, (byInclude = new Map()));
  let found = byInclude.get(includeObject);
  if (!found) byInclude.set(includeObject, (found = makeRepresentation(served, accepted, includeObject)));
  return found;
};

const same = <T>(value: T): T => value;

/** What representations of all shapes are made from. */
interface Presented {
  readonly served: ServedResource;
  readonly accepted: Accepted;
  readonly includeObject: IncludeObject;
  readonly apiVersion: string;
  /** The version of the shapes, which are kinds of the meta group. */
  readonly metaVersion: string;
  /** The prefix of keys of binary forms. */
  readonly form: string;
  /** Whether list items can be joined from stored bytes. */
  readonly isJoined: boolean;
  readonly base: Pick<Representation, 'accepted' | 'listKind' | 'raw' | 'writeItem' | 'metadataText'>;
}

const makeRepresentation = (served: ServedResource, accepted: Accepted, includeObject: IncludeObject): Representation => {
  const {resource, kind} = served;
  const {naming} = resource.settings;
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const listKind = {kind: kind.listKind, apiVersion};
  const presented: Presented = {
    served,
    accepted,
    includeObject,
    apiVersion,
    metaVersion: accepted.shapeVersion || naming.apiVersion('meta', 'v1'),
    form: accepted.media === 'binary' || accepted.media === 'cbor' ? `${accepted.media} ` : '',
    isJoined: accepted.media === 'json' && !accepted.pretty && !resource.definition.presentation?.derivedAnnotations,
    base: {accepted, listKind, raw: false, writeItem: undefined, metadataText: undefined},
  };
  switch (accepted.shape) {
    case 'Table':
      return asTable(presented);
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return asMetadata(presented);
    case 'object':
    case 'APIGroupDiscoveryList':
      return asObject(presented);
  }
};

/** The start of the JSON of a PartialObjectMetadata. */
const partialStart = (metaVersion: string): string =>
  `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(metaVersion)},"metadata":`;

/** The JSON of a record's PartialObjectMetadata. */
const metadataText =
  (metaVersion: string) =>
  ({value, revision}: StoredRecord): string =>
    `${partialStart(metaVersion)}${metadataJson(value, revision)}}`;

/** What objects of a kind have when nothing is set. */
const emptyOf = ({resource: {definition, settings}}: ServedResource, {group, version, kind}: Kind): PlainObject => {
  const node = definition.custom ? undefined : settings.schemas.of(group, version, kind);
  return node ? zeroValue(node) : {};
};

const asTable = ({served, includeObject, apiVersion, metaVersion, form, isJoined, base}: Presented): Representation => {
  const {resource} = served;
  const {naming, clock} = resource.settings;
  const shown = (object: Readonly<KubeObject>) => inVersion(served, apiVersion, object);
  const compareRows = resource.definition.presentation?.compareRows;
  // Columns read objects of the version that is stored.
  const empty = lazily(() => emptyOf(served, resource.kind));
  const cell = (column: Column<KubeObject>, object: Readonly<KubeObject>) =>
    column.of(object, at => humanDuration(clock.now() - at), naming);
  const table = (objects: readonly Readonly<KubeObject>[], meta: ListMeta, columns: boolean) =>
    tableOf(resource.definition, objects, {apiVersion: metaVersion, includeObject, meta, columns, cell, shown});
  const start = partialStart(metaVersion);
  const writeRow = (page: ItemsPage, record: StoredRecord): void => {
    const row = includeObject === 'Object' ? null : resource.attributes.rowOf(record);
    if (!row) return page.text(jsonText((table([objectOf(resource, record)], {}, false) as {rows: readonly unknown[]}).rows[0]));
    page.text(`{"cells":${rowStart(row, agoFrom(clock.now()))},"object":`);
    if (includeObject === 'None') return page.text('null}');
    page.text(start);
    writeMetadata(page, record, row.metadataEnd);
    page.text('}}');
  };
  return {
    ...base,
    key: `${form}table/${metaVersion}/${includeObject}/${apiVersion}`,
    writeItem: isJoined && !compareRows ? writeRow : undefined,
    one: object => table([object], {resourceVersion: object.metadata!.resourceVersion!}, true),
    event: (object, first) => table([object], {resourceVersion: object.metadata!.resourceVersion!}, first),
    bookmark: (object, first) =>
      tableOf(resource.definition, [object], {
        apiVersion: metaVersion,
        includeObject,
        meta: {resourceVersion: object.metadata!.resourceVersion!},
        columns: first,
        cell: column => cell(column, {...empty(), metadata: {}}),
        shown: same,
      }),
    list: (objects, meta) => table(compareRows ? objects.toSorted(compareRows) : objects, meta, true),
  };
};

/** Returns a table of objects of the stored version, with ages at a time. */
export const tableAt = ({settings: {naming}, definition}: Resource, objects: readonly Readonly<KubeObject>[], now: number) =>
  tableOf(definition, objects, {
    apiVersion: naming.apiVersion('meta', 'v1'),
    includeObject: 'Metadata',
    meta: {},
    columns: true,
    cell: (column, object) => column.of(object, at => humanDuration(now - at), naming),
    shown: same,
  });

const asMetadata = ({served: {resource}, metaVersion, form, isJoined, base}: Presented): Representation => {
  const partial = (object: Readonly<KubeObject>) => partialMetadata(metaVersion, object, resource.definition);
  const start = partialStart(metaVersion);
  const writePartial = (page: ItemsPage, record: StoredRecord): void => {
    page.text(start);
    writeMetadata(page, record, metadataEnd(record.value));
    page.text('}');
  };
  return {
    ...base,
    key: `${form}partial/${metaVersion}`,
    writeItem: isJoined ? writePartial : undefined,
    metadataText: resource.definition.presentation?.derivedAnnotations ? undefined : metadataText(metaVersion),
    one: partial,
    event: partial,
    bookmark: partial,
    list: (objects, meta) => ({
      kind: 'PartialObjectMetadataList',
      apiVersion: metaVersion,
      metadata: meta,
      items: objects.map(partial),
    }),
  };
};

const asObject = ({served, accepted, apiVersion, form, base}: Presented): Representation => {
  const {resource, kind} = served;
  const shown = (object: Readonly<KubeObject>) => inVersion(served, apiVersion, object);
  const empty = lazily(() => emptyOf(served, kind));
  return {
    ...base,
    key: `${form}object/${apiVersion}`,
    raw: !served.version && accepted.media === 'json' && !accepted.pretty,
    one: shown,
    event: shown,
    bookmark: object => ({...empty(), ...object, apiVersion}),
    list: (objects, meta) => ({
      ...base.listKind,
      // Lists of custom resources have an empty `continue`, too.
      metadata: resource.definition.custom ? {continue: '', ...meta} : meta,
      items: objects.map(object => {
        if (resource.definition.custom) return shown(object);
        const {kind: _, apiVersion: __, ...item} = shown(object);
        return item;
      }),
    }),
  };
};
