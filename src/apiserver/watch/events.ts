// The events of watches. An event is encoded once per change and representation, however many watches receive it, and
// only when it is first sent.

import {jsonText} from '#src/base/json/json.js';
import type {EncodedEvent} from '#src/api/request.js';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import {withClockHeld} from '#src/base/clock.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {runSteps, runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {deepFreeze, longRecordBytes} from '#src/apiserver/registry/object-cache.js';
import {objectOf} from '#src/apiserver/registry/read/read.js';
import {recordJson} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** Creates the object of an event. */
interface ObjectMaker {
  now(): unknown;
  /** The same in steps, with turns of the event loop in between; undefined if `now` is fast enough. */
  later?(): Promise<unknown> | undefined;
}

/** An event whose line and object are created on first use, once for all watchers. */
class LazyEvent implements PreparableEvent {
  readonly type: string;
  readonly #accepted: Accepted;
  readonly #maker: ObjectMaker;
  readonly #raw: StoredRecord | undefined;
  #object: unknown;
  #bytes: Buffer | undefined;
  #ready: Promise<void> | undefined;

  /** `raw` is a record whose bytes can be sent unchanged. */
  constructor(type: string, {accepted}: Representation, maker: ObjectMaker, raw?: StoredRecord) {
    this.type = type;
    this.#accepted = accepted;
    this.#maker = maker;
    this.#raw = raw;
  }

  ready(): Promise<void> | undefined {
    if (this.#object !== undefined) return undefined;
    return (this.#ready ??= this.#maker.later?.()?.then(object => void (this.#object ??= object)));
  }

  object(): unknown {
    return (this.#object ??= this.#maker.now());
  }

  bytes(): Buffer {
    return (this.#bytes ??= this.#encode());
  }

  #encode(): Buffer {
    const {naming, cbor} = this.#accepted;
    if (cbor) return cbor.event(this.type, this.object());
    if (naming) {
      const codec = loadedCodec()!;
      return codec.encodeWatchFrame(this.type, codec.encodeObject(this.object() as PlainObject, naming));
    }
    const before = `{"type":"${this.type}","object":`;
    return this.#raw
      ? recordJson(this.#raw.value, this.#raw.revision, before, '}\n')
      : Buffer.from(`${before}${jsonText(this.object())}}\n`);
  }
}

/** An event whose object can be created in advance. */
export interface PreparableEvent extends EncodedEvent {
  /** A promise to await before using `object`, unless it exists or can be created quickly. */
  ready(): Promise<void> | undefined;
}

/** The events of a change by form; they live as long as the change. */
const shared = new WeakMap<Change, Map<string, PreparableEvent>>();

/** The event of a change in one representation, shared by all watches that send it. */
export const sharedEvent: typeof eventOf = (resource, representation, change, type, first) => {
  const key = `${type} ${first && representation.accepted.shape === 'Table'} ${representation.key}`;
  const byKey = shared.get(change) ?? new Map<string, PreparableEvent>();
  const known = byKey.get(key);
  if (known) return known;
  const event = eventOf(resource, representation, change, type, first);
  byKey.set(key, event);
  shared.set(change, byKey);
  return event;
};

/**
 * The event of a change in one representation. `DELETED` shows the last state with the revision of the change. Watches
 * within the process share the objects of the object cache, and need nothing else in common.
 */
export const eventOf = (
  resource: Resource,
  representation: Representation,
  change: Change,
  type: string,
  first: boolean,
): PreparableEvent => {
  const record = type === 'DELETED' ? change.previous! : change.record!;
  const shown = record.revision === change.revision ? record : {...record, revision: change.revision};
  const seen = (stored: Readonly<KubeObject>) =>
    representation.event(
      type === 'DELETED' ? deepFreeze({...stored, metadata: {...stored.metadata, resourceVersion: String(change.revision)}}) : stored,
      first,
    );
  const maker = ofMetadata(resource, representation, record, shown) ?? ofObject(resource, record, seen);
  return new LazyEvent(type, representation, maker, representation.raw ? shown : undefined);
};

const ofObject = (resource: Resource, record: StoredRecord, seen: (stored: Readonly<KubeObject>) => unknown): ObjectMaker => ({
  now: () => seen(objectOf(resource, record)),
  later: () => resource.objects.inPieces(record.key, record.value, record.revision, resource.settings.clock)?.then(seen),
});

/**
 * Reads metadata without parsing the rest of an object, or takes it from the object where that is parsed already.
 * `shown` is the record with the revision of the event: the object that the cache has of that revision may be another
 * one. Returns undefined for a representation of more than metadata.
 */
const ofMetadata = (
  {objects, settings: {clock}}: Resource,
  {metadataText, one}: Representation,
  record: StoredRecord,
  shown: StoredRecord,
): ObjectMaker | undefined => {
  if (!metadataText) return undefined;
  const parsed = () => parseInSteps(Buffer.from(metadataText(shown)), {freezes: true});
  const known = () => {
    const metadata = objects.peek(record.key, record.revision)?.metadata ?? objects.metadataInWriting(record);
    return metadata && shown !== record ? {...metadata, resourceVersion: String(shown.revision)} : metadata;
  };
  return {
    now() {
      const metadata = known();
      return metadata ? deepFreeze(one({metadata} as KubeObject)) : runSteps(parsed());
    },
    later: () =>
      record.value.length < longRecordBytes ? undefined : withClockHeld(clock, () => runStepsYielding(parsed(), new Yielder(clock))),
  };
};

/** The synthetic ADDED of an object that existed when the watch began. */
export const initialEvent = (resource: Resource, representation: Representation, record: StoredRecord, first: boolean): PreparableEvent => {
  const maker =
    ofMetadata(resource, representation, record, record) ?? ofObject(resource, record, stored => representation.event(stored, first));
  return new LazyEvent('ADDED', representation, maker, representation.raw ? record : undefined);
};

export interface BookmarkSettings {
  /** Whether it marks the end of the initial events. */
  readonly initialEnd: boolean;
  /** Whether it is the first event of its stream. */
  readonly first: boolean;
}

/** A bookmark: an object of the kind with only a resource version; `initialEnd` marks the end of the initial events. */
export const bookmark = (
  {settings, kind, apiVersion}: Resource,
  representation: Representation,
  revision: number,
  {initialEnd, first}: BookmarkSettings,
): EncodedEvent => {
  const object: KubeObject = {
    kind: kind.kind,
    apiVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(initialEnd ? {annotations: Object.fromEntries(settings.naming.annotations.initialEventsEnd.map(key => [key, 'true']))} : {}),
    },
  };
  return new LazyEvent('BOOKMARK', representation, {now: () => representation.bookmark(object, first)});
};

/** The event that ends a stream with a Status. */
export const errorEvent = (representation: Representation, status: Status): EncodedEvent =>
  new LazyEvent('ERROR', representation, {now: () => status});
