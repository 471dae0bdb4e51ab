// Watches. A stream passes through these states: the initial state (sent with backpressure), following the store, ended. Events that take long to encode are
// prepared in order, so that none overtakes another. A stream never buffers without bound: the store's window and the outbox limit it.

import type {ApiResponse, EncodedEvent, WatchSink} from '#src/api/request.js';
import {expired, internalError, type Status, StatusError} from '#src/api/status.js';
import type {Labels} from '#src/base/meter.js';
import {noLog, type Log} from '#src/base/log.js';
import {jittered} from '#src/base/random.js';
import {Compacted, StoreClosed} from '#src/storage/errors.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import type {Representation} from '#src/apiserver/present/representation.js';
import {chunkBytes, waitForRevision, scopeOf} from '#src/apiserver/registry/read/list.js';
import {readChunks, type Chunk} from '#src/apiserver/registry/read/chunks.js';
import type {Filter} from '#src/apiserver/registry/read/filter.js';
import type {ListOptions} from '#src/apiserver/registry/options.js';
import type {Resource} from '#src/apiserver/registry/registry.js';
import type {WatchCounts, WatchedObjects} from '#src/apiserver/flowcontrol/watch-counts.js';
import type {Bookmarks} from './bookmarks.js';
import {bookmark, eventOf, errorEvent, initialEvent, sharedEvent, type PreparableEvent} from './events.js';
import {transition} from './transition.js';

/** A last bookmark is sent this long before the server closes a stream. */
const closeTimeoutMs = 2000;

export interface WatchSettings {
  readonly minRequestTimeoutSeconds: number;
  /** The open streams, so that a shutdown can end them, with their metric labels. */
  readonly streams: Set<{end(): void; readonly labels: Labels}>;
  /** Counts the open streams by what they select. */
  readonly watches: WatchCounts;
  readonly bookmarks: Bookmarks;
  /** Logs watches at verbosity 4, and their bookmarks at 5. */
  readonly log: Log;
  /** Returns the function to call with every event of a resource, for metrics. */
  counter(resource: Labels): () => void;
}

interface Start {
  /** Only changes after this revision are sent; the store may not have reached it yet. */
  readonly after: number;
  /** The revision from which the store is followed. */
  readonly from: number;
  /** The initial state: its first chunk, and the rest. */
  readonly initial: Chunk | undefined;
  readonly rest?: AsyncIterator<Chunk, undefined>;
  readonly marksEnd: boolean;
  /** The error that ends the stream at once. */
  readonly refusal?: unknown;
}

/** A requested watch. */
export interface WatchRequest {
  readonly namespace: string;
  readonly filter: Filter;
  readonly options: ListOptions;
  readonly representation: Representation;
  /** Whether events are taken as objects, not as bytes. */
  readonly inProcess: boolean;
  /** The labels for metrics. */
  readonly labels: Labels;
  /** The objects by which it is counted; undefined if an index leads to it. */
  readonly watched: WatchedObjects | undefined;
  /** Called when the initial state was sent, or the watch has ended before. */
  readonly initialized?: (() => void) | undefined;
}

/**
 * Opens a watch. All refusals happen here, before the stream begins; compacted history becomes an ERROR event of the stream
 * (the API reference, efficient detection of changes).
 */
export const watchObjects = async (resource: Resource, request: WatchRequest, settings: WatchSettings): Promise<ApiResponse> => {
  const start = await startOf(resource, request);
  return {
    status: 200,
    headers: {},
    body: {
      kind: 'watch',
      contentType: request.representation.accepted.contentType,
      start: sink => new WatchStream(resource, request, settings, start, sink),
    },
  };
};

const startOf = async (resource: Resource, {namespace, filter, options, representation: {raw}}: WatchRequest): Promise<Start> => {
  const {store} = resource.settings;
  const {resourceVersion: requestedVersion, sendInitialEvents, match} = options;
  const wantsInitial = sendInitialEvents ?? (match === '' && !requestedVersion);
  if (!wantsInitial) {
    const current = await store.revision();
    return {
      after: requestedVersion || current,
      from: requestedVersion ? Math.min(requestedVersion, current) : current,
      initial: undefined,
      marksEnd: false,
    };
  }
  try {
    if (requestedVersion) await waitForRevision(resource, requestedVersion);
  } catch (refusal) {
    return {after: 0, from: 0, initial: undefined, marksEnd: false, refusal};
  }
  const bytes = raw && filter.all ? chunkBytes.raw : chunkBytes.parsed;
  const rest = readChunks(resource, {...scopeOf(resource, namespace, filter), limit: 0, revision: undefined, filter, bytes});
  const initial = (await rest.next()).value!;
  const {revision} = initial;
  return {after: revision, from: revision, initial, rest, marksEnd: sendInitialEvents === true && options.bookmarks};
};

/** One watch: follows the store from its start and pushes the matching events, until either side ends it. */
class WatchStream implements Disposable {
  readonly labels: Labels;
  readonly #resource: Resource;
  readonly #filter: Filter;
  readonly #representation: Representation;
  readonly #inProcess: boolean;
  /** Whether events are taken as objects, or have to be encoded from objects. */
  readonly #takesObjects: boolean;
  readonly #settings: WatchSettings;
  readonly #sink: WatchSink;
  readonly #timers = new Set<Disposable>();
  readonly #count: () => void;
  #following: Disposable | undefined;
  #first = true;
  #hasBegun = false;
  #delivered: number;
  #startedAt = 0;
  #sent = 0;
  /** Whether an event is being prepared; later ones wait. */
  #isWaiting = false;
  readonly #behind: (() => void)[] = [];
  #preparing: Promise<void> | undefined;
  /** Whether the consumer asked to wait. */
  #isFull = false;
  #catchingUp: Promise<void> | undefined;
  #over = false;
  readonly #forget: (() => void) | undefined;
  readonly #initialized: (() => void) | undefined;

  constructor(
    resource: Resource,
    {namespace, filter, options, representation, inProcess, labels, watched, initialized}: WatchRequest,
    settings: WatchSettings,
    start: Start,
    sink: WatchSink,
  ) {
    this.labels = labels;
    this.#resource = resource;
    this.#filter = filter;
    this.#representation = representation;
    this.#inProcess = inProcess;
    this.#takesObjects = inProcess || !representation.raw;
    this.#settings = settings;
    this.#sink = sink;
    this.#delivered = start.after;
    this.#count = settings.counter({group: resource.ref.group, version: labels['version'] ?? '', resource: resource.ref.resource});
    settings.streams.add(this);
    this.#forget = watched && settings.watches.add(watched);
    this.#initialized = initialized;
    this.#startedAt = resource.settings.clock.monotonic();
    this.#log(4, 'watch starts');
    this.#limitTime(options);
    if (start.refusal === undefined) this.#begin(namespace, start);
    else this.#fail(start.refusal);
    if (start.after > start.from && !resource.settings.store.shared)
      this.#expect(start.after).catch((error: unknown) => resource.settings.clock.unhandled(error));
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #begin(namespace: string, start: Start): void {
    this.#sendInitial(start.initial, start.rest, () => {
      this.#hasBegun = true;
      if (start.marksEnd) this.#mark(true);
      this.#follow(namespace, start.from);
      this.#initialized?.();
    });
  }

  /** If nobody else writes to the store, a revision that it does not reach is that of another store: the client would wait forever, and has to list again. */
  async #expect(revision: number): Promise<void> {
    try {
      await waitForRevision(this.#resource, revision);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Sends the initial state as fast as the consumer takes it, so that a large one is not buffered, and then continues. */
  #sendInitial(piece: Chunk | undefined, rest: Start['rest'], then: () => void): void {
    this.#sendRecords((piece?.records ?? []).values(), () => {
      if (piece?.next === undefined || !rest) return then();
      rest
        .next()
        .then(({value}) => {
          if (!this.#over) this.#sendInitial(value, rest, then);
        })
        .catch((error: unknown) => this.#fail(error));
    });
  }

  #sendRecords(records: Iterator<StoredRecord>, then: () => void): void {
    for (let next = records.next(); !next.done; next = records.next()) {
      if (this.#over) return;
      const event = initialEvent(this.#resource, this.#representation, next.value, this.#isFirst());
      const ready = this.#prepare(event);
      if (!ready && this.#send(event)) continue;
      void this.#sendSlowly(event, ready, records, then);
      return;
    }
    then();
  }

  /** Continues with the records when an event is prepared and the consumer is ready. */
  async #sendSlowly(
    event: EncodedEvent,
    ready: Promise<void> | undefined,
    records: Iterator<StoredRecord>,
    then: () => void,
  ): Promise<void> {
    try {
      if (ready) {
        await ready;
        if (!this.#send(event)) await this.#sink.drained();
      } else await this.#sink.drained();
      this.#sendRecords(records, then);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The promise to await before an event is sent. */
  #prepare(event: PreparableEvent): Promise<void> | undefined {
    return this.#takesObjects ? event.ready() : undefined;
  }

  #follow(namespace: string, after: number): void {
    if (this.#over) return;
    const scope = scopeOf(this.#resource, namespace, this.#filter);
    const following = this.#resource.settings.store.watch(
      {...scope, after},
      {
        changes: batch => {
          for (const change of batch) {
            if (this.#isWaiting) this.#behind.push(() => this.#deliver(change));
            else this.#deliver(change);
          }
          return this.#isWaiting || this.#isFull ? (this.#catchingUp ??= this.#caughtUp()) : undefined;
        },
        progress: revision => this.#inOrder(() => void (this.#delivered = Math.max(this.#delivered, revision))),
        ended: error => this.#inOrder(() => this.#fail(error)),
      },
    );
    if (this.#over) following[Symbol.dispose]();
    else this.#following = following;
  }

  /** Resolves once the consumer has taken what was sent, or the stream has ended. */
  async #caughtUp(): Promise<void> {
    while (!this.#over && (this.#isWaiting || this.#isFull)) {
      if (this.#isWaiting) await this.#preparing;
      else {
        this.#isFull = false;
        await this.#sink.drained();
      }
    }
    this.#catchingUp = undefined;
  }

  #deliver(change: Change): void {
    if (this.#over || change.revision <= this.#delivered) return;
    this.#delivered = change.revision;
    const type = transition(this.#resource, change, this.#filter);
    if (!type) return;
    const make = this.#inProcess ? eventOf : sharedEvent;
    const event = make(this.#resource, this.#representation, change, type, this.#isFirst());
    const ready = this.#prepare(event);
    if (!ready) return void this.#send(event);
    this.#isWaiting = true;
    this.#preparing = ready.then(() => this.#sendReady(event)).catch((error: unknown) => this.#fail(error));
  }

  #sendReady(event: EncodedEvent): void {
    this.#isWaiting = false;
    this.#send(event);
    while (!this.#isWaiting && !this.#over) {
      const next = this.#behind.shift();
      if (!next) return;
      next();
    }
  }

  /** Acts at once, or after the event that is being prepared. */
  #inOrder(act: () => void): void {
    if (this.#isWaiting) this.#behind.push(act);
    else act();
  }

  #isFirst(): boolean {
    const first = this.#first;
    this.#first = false;
    return first;
  }

  /** False when the consumer applies backpressure. */
  #send(event: EncodedEvent): boolean {
    if (this.#over) return false;
    this.#count();
    this.#sent += 1;
    const takesMore = this.#sink.event(event);
    this.#isFull = !takesMore;
    return takesMore;
  }

  /** Sends a bookmark, after the events before it. */
  #mark(initialEnd = false): void {
    if (!this.#hasBegun) return;
    if (this.#isWaiting) return void this.#behind.push(() => this.#mark(initialEnd));
    this.#log(5, 'sent a watch bookmark');
    this.#send(bookmark(this.#resource, this.#representation, this.#delivered, {initialEnd, first: this.#isFirst()}));
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    const status = error === undefined || error instanceof StoreClosed ? undefined : statusOf(error, this.#delivered);
    if (status) this.#send(errorEvent(this.#representation, status));
    this.end();
  }

  #limitTime({timeoutSeconds, bookmarks}: ListOptions): void {
    const {clock, random} = this.#resource.settings;
    const ms = Math.max(0, timeoutSeconds || jittered(random, this.#settings.minRequestTimeoutSeconds, 1)) * 1000;
    this.#timers.add(clock.schedule(ms, () => this.end()));
    if (!bookmarks) return;
    if (ms > closeTimeoutMs) this.#timers.add(clock.schedule(ms - closeTimeoutMs, () => this.#mark()));
    this.#timers.add(this.#settings.bookmarks.subscribe(() => this.#mark()));
  }

  /** Ends the stream for its consumer. */
  end(): void {
    if (this.#over) return;
    this.#stop();
    this.#sink.end();
  }

  #log(verbosity: number, message: string): void {
    const log = this.#settings.log.v(verbosity);
    if (log === noLog) return;
    const {ref, settings} = this.#resource;
    log.info(
      {
        resource: ref.resource,
        group: ref.group,
        resourceVersion: this.#delivered,
        events: this.#sent,
        seconds: Math.round(settings.clock.monotonic() - this.#startedAt) / 1000,
      },
      message,
    );
  }

  #stop(): void {
    if (this.#over) return;
    this.#log(4, 'watch ends');
    this.#over = true;
    this.#behind.length = 0;
    this.#following?.[Symbol.dispose]();
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#timers.clear();
    this.#settings.streams.delete(this);
    this.#forget?.();
    this.#initialized?.();
  }
}

/** The Status of the error that ended a stream. */
const statusOf = (error: unknown, delivered: number): Status => {
  if (error instanceof Compacted) return expired(`too old resource version: ${delivered} (${error.compacted})`).status;
  return error instanceof StatusError && error.reason ? error.status : internalError(error).status;
};
