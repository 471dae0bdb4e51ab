import type {Naming} from '#src/api/naming.js';
import type {AuditEvent} from './event.js';
import type {AuditFailures} from './failures.js';
import type {AuditSink} from './sink.js';

export interface Truncation {
  readonly naming: Naming;
  /** In bytes, with the newline. */
  readonly maxEventBytes: number;
  readonly failures: AuditFailures;
}

/**
 * Takes the objects from events that are too large, and drops events that still are. Large batches are split where they
 * are made.
 */
export const truncating = (sink: AuditSink, {naming, maxEventBytes, failures}: Truncation): AuditSink => {
  const annotation = naming.groupKey('audit', 'truncated');
  const isTooLarge = ({line}: AuditEvent): boolean => Buffer.byteLength(line) > maxEventBytes;
  return {
    holdsRequest: sink.holdsRequest,
    process(events) {
      const kept: AuditEvent[] = [];
      for (const event of events) {
        const cut = isTooLarge(event) && event.level !== 'Metadata' ? event.truncated(annotation) : event;
        if (isTooLarge(cut)) failures.failed('truncate', new Error('event is too large even after truncating'), [cut]);
        else kept.push(cut);
      }
      return kept.length === 0 || sink.process(kept);
    },
    close: () => sink.close(),
  };
};
