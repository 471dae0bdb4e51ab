import type {EncodedEvent} from '#src/api/request.js';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import {deepFreeze} from '#src/apiserver/registry/object-cache.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import {recordJson} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/registry.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** An event whose line and object are made when first asked for, once for all who share it. */
class LazyEvent implements EncodedEvent {
  readonly type: string;
  readonly #form: Accepted;
  readonly #make: () => unknown;
  readonly #raw: StoredRecord | undefined;
  #object: unknown;
  #bytes: Buffer | undefined;

  /** `raw` is a record whose bytes can be told as they are. */
  constructor(type: string, {accepted}: Representation, make: () => unknown, raw?: StoredRecord) {
    this.type = type;
    this.#form = accepted;
    this.#make = make;
    this.#raw = raw;
  }

  object(): unknown {
    return (this.#object ??= this.#make());
  }

  bytes(): Buffer {
    return (this.#bytes ??= this.#encode());
  }

  #encode(): Buffer {
    const {naming, cbor} = this.#form;
    if (cbor) return cbor.event(this.type, this.object());
    if (naming) {
      const codec = loadedCodec()!;
      return codec.encodeWatchFrame(this.type, codec.encodeObject(this.object() as PlainObject, naming));
    }
    const before = `{"type":"${this.type}","object":`;
    return this.#raw ? recordJson(this.#raw.value, this.#raw.revision, before, '}\n') : Buffer.from(`${before}${JSON.stringify(this.object())}}\n`);
  }
}

/** Events of a change by form; they live as long as the change does. */
const shared = new WeakMap<Change, Map<string, EncodedEvent>>();

/** The event of a change as one representation shows it. `DELETED` shows the last state with the revision of the change. */
export const eventOf = (resource: Resource, representation: Representation, change: Change, type: string, first: boolean): EncodedEvent => {
  const key = `${type} ${first && representation.accepted.shape === 'Table'} ${representation.key}`;
  const forms = shared.get(change) ?? new Map<string, EncodedEvent>();
  const known = forms.get(key);
  if (known) return known;
  const event = makeEvent(resource, representation, change, type, first);
  forms.set(key, event);
  shared.set(change, forms);
  return event;
};

const makeEvent = (resource: Resource, representation: Representation, change: Change, type: string, first: boolean): EncodedEvent => {
  const record = type === 'DELETED' ? change.previous! : change.record!;
  const object = () => {
    const stored = objectOf(resource, record);
    const seen = type === 'DELETED' ? deepFreeze({...stored, metadata: {...stored.metadata, resourceVersion: String(change.revision)}}) : stored;
    return representation.event(seen, first);
  };
  return new LazyEvent(type, representation, object, representation.raw ? {...record, revision: change.revision} : undefined);
};

/** The synthetic ADDED of an object that was there when the watch began. */
export const initialEvent = (resource: Resource, representation: Representation, record: StoredRecord, first: boolean): EncodedEvent =>
  new LazyEvent('ADDED', representation, () => representation.event(objectOf(resource, record), first), representation.raw ? record : undefined);

export interface BookmarkSettings {
  /** Whether it marks the end of the initial events. */
  readonly initialEnd: boolean;
  /** Whether it is the first event of its stream. */
  readonly first: boolean;
}

/** A bookmark: an object of the kind with nothing but its revision; `initialEnd` marks the end of the initial events. */
export const bookmark = ({settings, kind, apiVersion}: Resource, representation: Representation, revision: number, {initialEnd, first}: BookmarkSettings): EncodedEvent => {
  const object: KubeObject = {
    kind: kind.kind,
    apiVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(initialEnd ? {annotations: Object.fromEntries(settings.naming.annotations.initialEventsEnd.map(key => [key, 'true']))} : {}),
    },
  };
  return new LazyEvent('BOOKMARK', representation, () => representation.bookmark(object, first));
};

/** The event that ends a stream with a Status. */
export const errorEvent = (representation: Representation, status: Status): EncodedEvent => new LazyEvent('ERROR', representation, () => status);
