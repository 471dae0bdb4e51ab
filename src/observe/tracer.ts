// Creates the spans of sampled traces, and collects ended ones in batches of limited size for an exporter, as the batch
// processor of OpenTelemetry does: what does not fit the queue is dropped and counted.

import {randomBytes} from 'node:crypto';
import {runEvery, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {outsideSpans, type Span, type SpanAttributes} from '#src/base/span.js';

/** The identity of a span: in hexadecimal. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

export interface SpanEvent {
  readonly atMs: number;
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** An ended span. Times are in ms since the epoch, with fractions. */
export interface EndedSpan {
  readonly context: SpanContext;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly events: readonly SpanEvent[];
  readonly link: SpanContext | undefined;
  /** The message of a failed operation. */
  readonly error: string | undefined;
}

export interface TracerOptions {
  readonly clock: Clock;
  /** The fraction of traces without a parent that are sampled, per million. */
  readonly samplingRatePerMillion: number;
  /** Sends spans. Rejects when they were not received; they are dropped then. */
  export(spans: readonly EndedSpan[]): Promise<void>;
  /** Called with the error of an export, and the number of spans that were dropped since. */
  onDropped(error: unknown, count: number): void;
}

/** The root span of a request. */
export interface RootOptions {
  readonly name: string;
  /** Whether it is of work of this process, rather than of a request. */
  readonly isInternal?: boolean;
  readonly attributes: SpanAttributes;
  /** When it began, by the monotonic clock. */
  readonly startedAt: number;
  /** The `traceparent` header of the request. */
  readonly traceparent: string | undefined;
  /** Whether the caller's trace is continued; otherwise a new one is linked with it. */
  readonly trustsParent: boolean;
}

const maxQueue = 2048;
const maxBatch = 512;
const exportIntervalMs = 5000;
const maxEvents = 128;
const maxTextLength = 4096;

const notSampled = 0n;
const wholeRange = 1n << 63n;

/** Parses a `traceparent` header; undefined for an invalid one (W3C Trace Context §3.2). */
export const parseTraceparent = (header = ''): SpanContext | undefined => {
  const [, version, traceId, spanId, flags, rest] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header) ?? [];
  if (!traceId || !spanId || !flags || version === 'ff' || (version === '00' && rest)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return {traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1};
};

/** Texts of spans are limited. */
const limited = (attributes: SpanAttributes): SpanAttributes => {
  const result: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(attributes)) result[name] = typeof value === 'string' ? value.slice(0, maxTextLength) : value;
  return result;
};

/** Samples and collects spans until it is closed. */
export class Tracer {
  readonly #options: TracerOptions;
  readonly #threshold: bigint;
  readonly #stopping = new AbortController();
  #queue: EndedSpan[] = [];
  #dropped = 0;
  #exporting: Promise<void> | undefined;

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#threshold = (wholeRange * BigInt(options.samplingRatePerMillion)) / 1_000_000n;
    runEvery(options.clock, exportIntervalMs, this.#stopping.signal, () => this.#flush());
  }

  /** Begins a trace, or continues one; undefined if it is not sampled. */
  root({name, isInternal = false, attributes, startedAt, traceparent, trustsParent}: RootOptions): Span | undefined {
    const remote = parseTraceparent(traceparent);
    const parent = trustsParent ? remote : undefined;
    const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    if (!(parent ? parent.isSampled : this.#samples(traceId))) return undefined;
    const {clock} = this.#options;
    return new RecordedSpan({
      name,
      kind: isInternal ? 'internal' : 'server',
      traceId,
      parentId: parent?.spanId,
      link: parent ? undefined : remote,
      attributes,
      startedAt,
      clock,
      offset: clock.now() - clock.monotonic(),
      ended: span => this.#ended(span),
    });
  }

  /** Exports what is collected. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#exporting;
    await this.#flush();
  }

  #samples(traceId: string): boolean {
    return this.#threshold > notSampled && BigInt(`0x${traceId.slice(16)}`) >> 1n < this.#threshold;
  }

  #ended(span: EndedSpan): void {
    if (this.#queue.length >= maxQueue) this.#dropped++;
    else this.#queue.push(span);
    if (this.#queue.length >= maxBatch && !this.#exporting) void outsideSpans(() => this.#flush());
  }

  #flush(): Promise<void> {
    return (this.#exporting ??= this.#exportAll().finally(() => {
      this.#exporting = undefined;
    }));
  }

  async #exportAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, maxBatch);
      try {
        await this.#options.export(batch);
      } catch (error) {
        this.#options.onDropped(error, batch.length);
        return;
      }
    }
    if (this.#dropped > 0) this.#options.onDropped(new Error('the queue is full'), this.#dropped);
    this.#dropped = 0;
  }
}

interface SpanOptions extends Pick<EndedSpan, 'name' | 'kind' | 'parentId' | 'link' | 'attributes'> {
  readonly traceId: string;
  readonly startedAt: number;
  readonly clock: Clock;
  /** The difference of both times of the clock. */
  readonly offset: number;
  ended(span: EndedSpan): void;
}

class RecordedSpan implements Span {
  readonly #options: SpanOptions;
  readonly #spanId = randomBytes(8).toString('hex');
  readonly #events: SpanEvent[] = [];
  #attributes: SpanAttributes;
  #isOver = false;

  constructor(options: SpanOptions) {
    this.#options = options;
    this.#attributes = limited(options.attributes);
  }

  get traceparent(): string {
    return `00-${this.#options.traceId}-${this.#spanId}-01`;
  }

  child(name: string, {isClient = false, attributes = {}}: Parameters<Span['child']>[1] = {}): Span {
    const {clock} = this.#options;
    return new RecordedSpan({
      ...this.#options,
      name,
      kind: isClient ? 'client' : 'internal',
      parentId: this.#spanId,
      link: undefined,
      attributes,
      startedAt: clock.monotonic(),
    });
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = {...this.#attributes, ...limited(attributes)};
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (this.#events.length < maxEvents) this.#events.push({atMs: this.#now(), name, attributes: limited(attributes)});
  }

  past(name: string, from: number, to: number): void {
    new RecordedSpan({
      ...this.#options,
      name,
      kind: 'internal',
      parentId: this.#spanId,
      link: undefined,
      attributes: {},
      startedAt: from,
    }).#close(this.#options.offset + to);
  }

  end(error?: unknown): void {
    this.#close(this.#now(), error);
  }

  #close(endMs: number, error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const {name, kind, traceId, parentId, link, startedAt, offset, ended} = this.#options;
    ended({
      context: {traceId, spanId: this.#spanId, isSampled: true},
      parentId,
      name,
      kind,
      startMs: offset + startedAt,
      endMs,
      attributes: this.#attributes,
      events: this.#events,
      link,
      error: error === undefined ? undefined : messageOf(error).slice(0, maxTextLength),
    });
  }

  #now(): number {
    const {clock, offset} = this.#options;
    return offset + clock.monotonic();
  }
}
