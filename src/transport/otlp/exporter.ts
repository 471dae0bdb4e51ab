// Sends spans to a collector: the OpenTelemetry protocol over gRPC (opentelemetry-proto, trace/v1).

import type {Clock} from '#src/base/clock.js';
import type {SpanAttributes} from '#src/base/span.js';
import type {EndedSpan} from '#src/observe/tracer.js';
import type {Dial} from '#src/transport/dial.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {MessageWriter} from '#src/transport/grpc/message.js';

export interface ExporterOptions {
  /** As `http://host:port` or `unix:///path`. */
  readonly server: string;
  readonly dial: Dial;
  readonly clock: Clock;
  /** The attributes of this process. */
  readonly resource: SpanAttributes;
}

/** Sends spans. `export` rejects when the collector did not receive them. */
export interface Exporter extends AsyncDisposable {
  export(spans: readonly EndedSpan[]): Promise<void>;
}

const exportTimeoutMs = 10_000;
const procedure = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const scopeName = 'component-base/tracing';

export const otlpExporter = ({server, dial, clock, resource}: ExporterOptions): Exporter => {
  const channel = new GrpcChannel({servers: [server], clock, dial});
  return {
    async export(spans) {
      await channel.call(procedure, encodedSpans(spans, resource), exportTimeoutMs);
    },
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
  };
};

const kinds = {internal: 1, server: 2, client: 3} as const;
const failed = 2;

/** Returns the request of an export. */
export const encodedSpans = (spans: readonly EndedSpan[], resource: SpanAttributes): Buffer => {
  const scope = new MessageWriter().message(1, new MessageWriter().bytes(1, scopeName));
  for (const span of spans) scope.message(2, spanMessage(span));
  const owner = new MessageWriter();
  writeAttributes(owner, 1, resource);
  return new MessageWriter().message(1, new MessageWriter().message(1, owner).message(2, scope)).finish();
};

const spanMessage = ({context, parentId, name, kind, startMs, endMs, attributes, events, link, error}: EndedSpan): MessageWriter => {
  const message = new MessageWriter()
    .bytes(1, Buffer.from(context.traceId, 'hex'))
    .bytes(2, Buffer.from(context.spanId, 'hex'))
    .bytes(4, Buffer.from(parentId ?? '', 'hex'))
    .bytes(5, name)
    .int(6, kinds[kind])
    .fixed64(7, nanoseconds(startMs))
    .fixed64(8, nanoseconds(endMs));
  writeAttributes(message, 9, attributes);
  for (const event of events) {
    const part = new MessageWriter().fixed64(1, nanoseconds(event.atMs)).bytes(2, event.name);
    writeAttributes(part, 3, event.attributes);
    message.message(11, part);
  }
  if (link) message.message(13, new MessageWriter().bytes(1, Buffer.from(link.traceId, 'hex')).bytes(2, Buffer.from(link.spanId, 'hex')));
  if (error !== undefined) message.message(15, new MessageWriter().bytes(2, error).int(3, failed));
  return message;
};

/** Integers of JavaScript are not exact for nanoseconds since the epoch. */
const nanoseconds = (ms: number): bigint => {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
};

const writeAttributes = (message: MessageWriter, field: number, attributes: SpanAttributes): void => {
  for (const [key, value] of Object.entries(attributes))
    message.message(field, new MessageWriter().bytes(1, key).message(2, valueMessage(value)));
};

/** Members of a oneof are written even if they are empty. */
const valueMessage = (value: string | number | boolean): MessageWriter => {
  if (typeof value === 'string') return new MessageWriter().message(1, Buffer.from(value));
  if (typeof value === 'boolean') return new MessageWriter().present(2, value ? 1 : 0);
  return new MessageWriter().present(3, Math.max(0, Math.round(value)));
};
