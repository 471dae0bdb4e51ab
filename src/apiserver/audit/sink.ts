import {isPending} from '#src/base/eventually.js';
import type {AuditEvent} from './event.js';

/** Takes audit events: a log, a webhook, or one that stands before another. */
export interface AuditSink {
  /**
   * Whether the request waits for its first event to be taken, because it must not go on without, or because events
   * would overtake each other.
   */
  readonly holdsRequest: boolean;
  /**
   * Returns whether the request may go on. The response waits for the promise. Never throws or rejects. A sink that
   * does not hold the request resolves its promises in the order of the calls.
   */
  process(events: readonly AuditEvent[]): boolean | Promise<boolean>;
  /** Records the events taken so far, and ends. Resolves when nothing is left to do. */
  close(): Promise<void>;
}

/** Gives every event to several sinks. A request goes on only if all agree. */
export const union = (sinks: readonly AuditSink[]): AuditSink =>
  sinks.length === 1
    ? sinks[0]!
    : {
        holdsRequest: sinks.some(({holdsRequest}) => holdsRequest),
        process(events) {
          const taken = sinks.map(sink => sink.process(events));
          return taken.some(isPending) ? Promise.all(taken).then(all => all.every(Boolean)) : taken.every(Boolean);
        },
        async close() {
          await Promise.all(sinks.map(sink => sink.close()));
        },
      };

/** The sink of the blocking mode: the response waits for the event, and is sent even if it was not recorded. */
export const ignoringFailures = (sink: AuditSink, holdsRequest: boolean): AuditSink => {
  // Events that are written together have the same promise.
  let last: Promise<boolean> | undefined;
  let ignored: Promise<boolean> | undefined;
  return {
    holdsRequest,
    process(events) {
      const taken = sink.process(events);
      if (typeof taken === 'boolean') return true;
      if (taken !== last) [last, ignored] = [taken, taken.then(() => true)];
      return ignored!;
    },
    close: () => sink.close(),
  };
};
