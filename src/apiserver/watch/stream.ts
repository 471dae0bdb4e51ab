// One watch. It sends the initial state as fast as its consumer takes it, and then follows the store:
//
//     initial ──(the initial state was sent)──▶ following ──(its time is over, its client has left, or an error)──▶ ended
//        └───────────(an error, or its client has left)────────────────────────────────────────────────────────────▲
//
// Events that take long to encode are prepared in order, so that none overtakes another. A stream never buffers without
// bound: the store's window and the outbox limit it.

import type {EncodedEvent, WatchSink} from '#src/api/request.js';
import {expired, internalError, type Status, StatusError} from '#src/api/status.js';
import {InOrder} from '#src/base/in-order.js';
import {noLog} from '#src/base/log.js';
import type {Labels} from '#src/base/meter.js';
import {jittered} from '#src/base/random.js';
import {Compacted, StoreClosed} from '#src/storage/errors.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import {scopeOf, waitForRevision} from '#src/apiserver/registry/read/list.js';
import type {ListOptions} from '#src/apiserver/registry/options.js';
import type {Chunk} from '#src/apiserver/registry/read/chunks.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {Consumer} from './consumer.js';
import {bookmark, eventOf, errorEvent, initialEvent, sharedEvent, type PreparableEvent} from './events.js';
import type {WatchRequest, WatchSettings, WatchStart} from './request.js';
import {transition} from './transition.js';

/** A last bookmark is sent this long before the server closes a stream. */
const closeTimeoutMs = 2000;

/** Follows the store from a start and pushes the matching events, until either side ends it. */
export class WatchStream implements Disposable {
  readonly labels: Labels;
  readonly #resource: Resource;
  readonly #request: WatchRequest;
  readonly #settings: WatchSettings;
  readonly #consumer: Consumer;
  readonly #startedAt: number;
  /** Changes and what has to keep its place among them; an event that is being prepared holds up those behind it. */
  readonly #order = new InOrder(error => this.#fail(error));
  /** What ends with the stream. */
  readonly #held: Disposable[] = [];
  #phase: 'initial' | 'following' | 'ended' = 'initial';
  /** The newest revision whose change was delivered. */
  #delivered: number;
  /** While the store waits for this stream. */
  #catchingUp: Promise<void> | undefined;

  constructor(resource: Resource, request: WatchRequest, settings: WatchSettings, start: WatchStart, sink: WatchSink) {
    const {labels, watched, options} = request;
    const {clock, store} = resource.settings;
    this.labels = labels;
    this.#resource = resource;
    this.#request = request;
    this.#settings = settings;
    this.#delivered = start.after;
    this.#consumer = new Consumer(
      sink,
      settings.counter({group: resource.ref.group, version: labels['version'] ?? '', resource: resource.ref.resource}),
    );
    this.#startedAt = clock.monotonic();
    settings.streams.add(this);
    if (watched) this.#held.push({[Symbol.dispose]: settings.watches.add(watched)});
    this.#log(4, 'watch starts');
    this.#limitTime(options);
    if (start.refusal === undefined) this.#sendInitial(start.initial, start);
    else this.#fail(start.refusal);
    if (start.after > start.from && !store.shared) this.#expect(start.after).catch((error: unknown) => clock.unhandled(error));
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** Ends the stream for its consumer. */
  end(): void {
    if (this.#phase === 'ended') return;
    this.#stop();
    this.#consumer.end();
  }

  /**
   * If nobody else writes to the store, a revision that it does not reach is that of another store: the client would
   * wait forever, and has to list again.
   */
  async #expect(revision: number): Promise<void> {
    try {
      await waitForRevision(this.#resource, revision);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Sends the initial state as fast as the consumer takes it, so that a large one is not buffered, and then follows.
   */
  #sendInitial(piece: Chunk | undefined, start: WatchStart): void {
    this.#sendRecords((piece?.records ?? []).values(), () => {
      if (piece?.next === undefined || !start.rest) return this.#begin(start);
      start.rest
        .next()
        .then(({value}) => {
          if (this.#phase === 'initial') this.#sendInitial(value, start);
        })
        .catch((error: unknown) => this.#fail(error));
    });
  }

  #sendRecords(records: Iterator<StoredRecord>, then: () => void): void {
    for (let next = records.next(); !next.done; next = records.next()) {
      if (this.#phase === 'ended') return;
      const event = initialEvent(this.#resource, this.#request.representation, next.value, this.#consumer.takeFirst());
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
      await ready;
      if (!ready || !this.#send(event)) await this.#consumer.drained();
      this.#sendRecords(records, then);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * The promise to await before an event is sent: where events are not taken as bytes of the store, long objects are
   * parsed in steps.
   */
  #prepare(event: PreparableEvent): Promise<void> | undefined {
    const {inProcess, representation} = this.#request;
    return inProcess || !representation.raw ? event.ready() : undefined;
  }

  #begin(start: WatchStart): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'following';
    if (start.marksEnd) this.#mark(true);
    this.#follow(start.from);
    this.#request.initialized?.();
  }

  #follow(after: number): void {
    const {namespace, filter} = this.#request;
    const following = this.#resource.settings.store.watch(
      {...scopeOf(this.#resource, namespace, filter), after},
      {
        changes: batch => {
          for (const change of batch) this.#order.add(() => this.#deliver(change));
          return this.#isBehind() ? (this.#catchingUp ??= this.#catchUp()) : undefined;
        },
        progress: revision => this.#order.add(() => void (this.#delivered = Math.max(this.#delivered, revision))),
        ended: error => this.#order.add(() => this.#fail(error)),
      },
    );
    this.#hold(following);
  }

  #isBehind(): boolean {
    return this.#phase !== 'ended' && (this.#order.isWaiting || this.#consumer.isFull);
  }

  /** Resolves once the consumer has taken what was sent, or the stream has ended. */
  async #catchUp(): Promise<void> {
    while (this.#isBehind()) await (this.#order.passed() ?? this.#consumer.drained());
    this.#catchingUp = undefined;
  }

  /** Sends the event of a change; resolves when it is prepared and sent. */
  #deliver(change: Change): Promise<void> | undefined {
    if (this.#phase === 'ended' || change.revision <= this.#delivered) return undefined;
    this.#delivered = change.revision;
    const {filter, representation, inProcess} = this.#request;
    const type = transition(this.#resource, change, filter);
    if (!type) return undefined;
    const make = inProcess ? eventOf : sharedEvent;
    const event = make(this.#resource, representation, change, type, this.#consumer.takeFirst());
    const ready = this.#prepare(event);
    if (ready) return ready.then(() => void this.#send(event));
    this.#send(event);
    return undefined;
  }

  /** False when the consumer applies backpressure. */
  #send(event: EncodedEvent): boolean {
    if (this.#phase === 'ended') return false;
    // No event is a list: a stream of lists ends with the first object, which cannot be written as one.
    if (this.#request.representation.accepted.shape === 'PartialObjectMetadataList' && event.type !== 'ERROR') {
      this.end();
      return false;
    }
    return this.#consumer.send(event);
  }

  /** Sends a bookmark, after the events before it. */
  #mark(initialEnd = false): void {
    if (this.#phase !== 'following') return;
    this.#order.add(() => {
      this.#log(5, 'sent a watch bookmark');
      const first = this.#consumer.takeFirst();
      this.#send(bookmark(this.#resource, this.#request.representation, this.#delivered, {initialEnd, first}));
    });
  }

  #fail(error: unknown): void {
    if (this.#phase === 'ended') return;
    const status = error === undefined || error instanceof StoreClosed ? undefined : statusOf(error, this.#delivered);
    if (status) this.#send(errorEvent(this.#request.representation, status));
    this.end();
  }

  #limitTime({timeoutSeconds, bookmarks}: ListOptions): void {
    const {clock, random} = this.#resource.settings;
    const ms = Math.max(0, timeoutSeconds || jittered(random, this.#settings.minRequestTimeoutSeconds, 1)) * 1000;
    this.#hold(clock.schedule(ms, () => this.end()));
    if (!bookmarks) return;
    if (ms > closeTimeoutMs) this.#hold(clock.schedule(ms - closeTimeoutMs, () => this.#mark()));
    this.#hold(this.#settings.bookmarks.subscribe(() => this.#mark()));
  }

  /** Disposes of something with the stream. */
  #hold(disposable: Disposable): void {
    if (this.#phase === 'ended') disposable[Symbol.dispose]();
    else this.#held.push(disposable);
  }

  #stop(): void {
    if (this.#phase === 'ended') return;
    this.#log(4, 'watch ends');
    this.#phase = 'ended';
    for (const disposable of this.#held.splice(0)) disposable[Symbol.dispose]();
    this.#settings.streams.delete(this);
    this.#request.initialized?.();
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
        events: this.#consumer.sent,
        seconds: Math.round(settings.clock.monotonic() - this.#startedAt) / 1000,
      },
      message,
    );
  }
}

/** The Status of the error that ended a stream. */
const statusOf = (error: unknown, delivered: number): Status => {
  if (error instanceof Compacted) return expired(`too old resource version: ${delivered} (${error.compacted})`).status;
  return error instanceof StatusError && error.reason ? error.status : internalError(error).status;
};
