import {jsonText} from '#src/base/json.js';
import {agoFrom, humanDuration} from '#src/api/duration.js';
import type {KubeObject, ListMeta} from '#src/api/types.js';
import type {Column} from '#src/resources/definition.js';
import {lazily} from '#src/base/lazily.js';
import {zeroValue} from '#src/schema/zero-value.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import {metadataJson} from '#src/apiserver/registry/record.js';
import {rowStart} from '#src/apiserver/registry/row-text.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';
import {partialMetadata, tableOf, type IncludeObject} from './table.js';

/** How objects of a resource are shown to one caller: in which version and in which shape. */
export interface Representation {
  /** Equal keys show equally: what is encoded for one caller serves all of that key. */
  readonly key: string;
  /** Whether stored bytes can go out as they are. */
  readonly raw: boolean;
  readonly accepted: Accepted;
  /** One object. */
  one(object: Readonly<KubeObject>): unknown;
  /** One object in a watch; `first` tells the first event of a stream. */
  event(object: Readonly<KubeObject>, first: boolean): unknown;
  /** A bookmark in a watch: metadata alone, and what objects of the kind have about which nothing is said. */
  bookmark(object: Readonly<KubeObject>, first: boolean): unknown;
  list(objects: readonly Readonly<KubeObject>[], meta: ListMeta): unknown;
  /** The JSON of one item of a list, where it is put together of stored bytes and what is known beside them. */
  readonly itemText: ((record: StoredRecord) => string) | undefined;
  /** What of an object is shown, where that is nothing but its metadata: the JSON of it. */
  readonly metadataText: ((record: StoredRecord) => string) | undefined;
  /** Kind and apiVersion of what `list` yields in the plain shape. */
  readonly listKind: {readonly kind: string; readonly apiVersion: string};
}

/** An object as one served version shows it. The hub shows stored objects as they are. */
const inVersion = ({resource, kind, version}: ServedResource, apiVersion: string, object: Readonly<KubeObject>): Readonly<KubeObject> =>
  version ? {...version.fromHub(object, resource.settings.naming), apiVersion, kind: kind.kind} : object;

/** Representations made before, by what was agreed on: they go with it, and agreements are remembered within a bound. */
const made = new WeakMap<ServedResource, WeakMap<Accepted, Map<IncludeObject, Representation>>>();

/** How a resource is shown under an agreement. */
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

const makeRepresentation = (served: ServedResource, accepted: Accepted, includeObject: IncludeObject): Representation => {
  const {resource, kind} = served;
  const {naming, clock} = resource.settings;
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const metaVersion = accepted.shapeVersion || naming.apiVersion('meta', 'v1');
  const shown = (object: Readonly<KubeObject>) => inVersion(served, apiVersion, object);
  const listKind = {kind: kind.listKind, apiVersion};
  const base = {accepted, listKind, raw: false, itemText: undefined, metadataText: undefined};
  const empty = lazily(() => {
    const node = resource.definition.custom ? undefined : resource.settings.schemas.of(kind.group, kind.version, kind.kind);
    return node ? zeroValue(node) : {};
  });
  const isText = accepted.media === 'json' && !accepted.pretty && !resource.definition.derivedAnnotations;
  const partialText = ({value, revision}: StoredRecord) => `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(metaVersion)},"metadata":${metadataJson(value, revision)}}`;
  const form = accepted.media === 'binary' || accepted.media === 'cbor' ? `${accepted.media} ` : '';
  switch (accepted.shape) {
    case 'Table': {
      const cell = (column: Column<KubeObject>, object: Readonly<KubeObject>) => column.of(object, at => humanDuration(clock.now() - at), naming);
      const rowText = (record: StoredRecord): string => {
        const row = includeObject === 'Object' ? null : resource.attributes.rowOf(record);
        if (!row) return jsonText((table([objectOf(resource, record)], {}, false) as {rows: readonly unknown[]}).rows[0]);
        return `{"cells":${rowStart(row, agoFrom(clock.now()))},"object":${includeObject === 'None' ? 'null' : partialText(record)}}`;
      };
      const table = (objects: readonly Readonly<KubeObject>[], meta: ListMeta, columns: boolean) =>
        tableOf(resource.definition, objects, {apiVersion: metaVersion, includeObject, meta, columns, cell, shown});
      return {
        ...base,
        key: `${form}table/${metaVersion}/${includeObject}/${apiVersion}`,
        itemText: isText ? rowText : undefined,
        one: object => table([object], {resourceVersion: object.metadata!.resourceVersion!}, true),
        event: (object, first) => table([object], {resourceVersion: object.metadata!.resourceVersion!}, first),
        // A bookmark is no whole object: columns must not look into it.
        bookmark: (object, first) =>
          tableOf(resource.definition, [object], {
            apiVersion: metaVersion,
            includeObject,
            meta: {resourceVersion: object.metadata!.resourceVersion!},
            columns: first,
            cell: () => '',
            shown: same,
          }),
        list: (objects, meta) => table(objects, meta, true),
      };
    }
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList': {
      const partial = (object: Readonly<KubeObject>) => partialMetadata(metaVersion, object, resource.definition);
      return {
        ...base,
        key: `${form}partial/${metaVersion}`,
        itemText: isText ? partialText : undefined,
        metadataText: resource.definition.derivedAnnotations ? undefined : partialText,
        one: partial,
        event: partial,
        bookmark: partial,
        list: (objects, meta) => ({kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata: meta, items: objects.map(partial)}),
      };
    }
    case 'object':
    case 'APIGroupDiscoveryList':
      return {
        ...base,
        key: `${form}object/${apiVersion}`,
        raw: !served.version && accepted.media === 'json' && !accepted.pretty,
        one: shown,
        event: shown,
        bookmark: object => ({...empty(), ...object, apiVersion}),
        list: (objects, meta) => ({
          ...listKind,
          // Lists of custom resources say that nothing follows, too.
          metadata: resource.definition.custom ? {continue: '', ...meta} : meta,
          items: objects.map(object => {
            if (resource.definition.custom) return shown(object);
            const {kind: _, apiVersion: __, ...item} = shown(object);
            return item;
          }),
        }),
      };
  }
};
