// Spans of distributed traces. The current span follows asynchronous calls; there is none while tracing is off or the
// request is not sampled, and then these functions only call what they are given. Spans are created and exported
// elsewhere (src/observe/tracer.ts).

import {AsyncLocalStorage} from 'node:async_hooks';

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A timed operation of a sampled trace. */
export interface Span {
  /** The header for outgoing requests (W3C Trace Context). */
  readonly traceparent: string;
  child(name: string, options?: {readonly isClient?: boolean; readonly attributes?: SpanAttributes}): Span;
  set(attributes: SpanAttributes): void;
  event(name: string, attributes?: SpanAttributes): void;
  /** Adds a child for an operation that is over, by the times of the monotonic clock. */
  past(name: string, from: number, to: number): void;
  /** Ends the span, as failed if there is an error. */
  end(error?: unknown): void;
}

let spans: AsyncLocalStorage<Span> | undefined;

/** The span of the operation that is running; undefined without one. */
export const currentSpan = (): Span | undefined => spans?.getStore();

/** Adds an event to the current span. */
export const spanEvent = (name: string, attributes?: SpanAttributes): void => currentSpan()?.event(name, attributes);

/** Runs an operation as the current span. */
export const inSpan = <T>(span: Span, act: () => T): T => {
  spans ??= new AsyncLocalStorage();
  return spans.run(span, act);
};

/**
 * Runs an operation as a child of the current span, which ends with it; without a current span it is only run.
 * `attributes` is then not called.
 */
export const traced = <T>(name: string, attributes: () => SpanAttributes, act: () => T, isClient = false): T => {
  const parent = currentSpan();
  return parent ? inNewSpan(parent.child(name, {isClient, attributes: attributes()}), act) : act();
};

/** Runs an operation as a span, which ends with it. */
export const inNewSpan = <T>(span: Span, act: () => T): T => {
  try {
    const result = inSpan(span, act);
    if (!(result instanceof Promise)) span.end();
    else
      result.then(
        () => span.end(),
        (error: unknown) => span.end(error),
      );
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
};

/** Runs what does not belong to the current span, such as work for many requests. */
export const outsideSpans = <T>(act: () => T): T => (spans ? spans.exit(act) : act());

/** The headers of the current span for an outgoing request. */
export const traceHeaders = (): readonly (readonly [name: string, value: string])[] => {
  const span = currentSpan();
  return span ? [['traceparent', span.traceparent]] : [];
};
