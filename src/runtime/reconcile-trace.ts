// The traces of a controller: one for each attempt, with what caused it.

import {keyText, type ObjectKey} from '#src/api/key.js';
import {inSpan, type Span} from '#src/base/span.js';
import type {Tracer} from '#src/observe/tracer.js';

/** Begins traces. */
export type TraceSource = Pick<Tracer, 'root'>;

/** An attempt that is traced. */
interface TracedAttempt {
  readonly key: ObjectKey;
  readonly retries: number;
  /** When it began, by the monotonic clock. */
  readonly startedAt: number;
}

export class ReconcileTrace {
  readonly #tracer: TraceSource;
  readonly #controller: string;
  /** What queued each waiting key first since its last attempt. Holds no more keys than the queue. */
  readonly #causes = new Map<string, string>();

  constructor(tracer: TraceSource, controller: string) {
    this.#tracer = tracer;
    this.#controller = controller;
  }

  /** Remembers what queues a key, unless something else has queued it already. */
  caused(text: string, cause: string): void {
    if (!this.#causes.has(text)) this.#causes.set(text, cause);
  }

  /** Begins the trace of an attempt; undefined if it is not sampled. */
  begin({key, retries, startedAt}: TracedAttempt): Span | undefined {
    const text = keyText(key);
    const cause = this.#causes.get(text);
    this.#causes.delete(text);
    return this.#tracer.root({
      name: `reconcile ${this.#controller}`,
      isInternal: true,
      attributes: {
        controller: this.#controller,
        key: text,
        'k8s.namespace.name': key.namespace,
        retries,
        ...(cause === undefined ? {} : {cause}),
      },
      startedAt,
      traceparent: undefined,
      trustsParent: false,
    });
  }
}

/** Runs an attempt as its span, if it has one. */
export const withinSpan = <T>(span: Span | undefined, act: () => T): T => (span ? inSpan(span, act) : act());
