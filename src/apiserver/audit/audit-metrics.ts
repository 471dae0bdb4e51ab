import type {Meter} from '#src/base/meter.js';
import type {Recording} from './policy.js';

/** Counts events and refusals. */
export interface AuditMetrics {
  generated(): void;
  rejected(): void;
  recorded(recording: Recording | undefined): void;
}

/** Returns the metrics of audit, with upstream's names. */
export const auditMetrics = (meter: Meter): AuditMetrics => {
  const events = meter.counter({
    name: 'apiserver_audit_event_total',
    help: 'Counter of audit events generated and sent to the audit backend.',
  });
  const rejections = meter.counter({
    name: 'apiserver_audit_requests_rejected_total',
    help: 'Counter of apiserver requests rejected due to an error in audit logging backend.',
  });
  const levels = meter.counter({
    name: 'apiserver_audit_level_total',
    help: 'Counter of policy levels for audit events (1 per request).',
    labels: ['level'],
  });
  const generated = events.at({});
  const byLevel = new Map<string, ReturnType<typeof levels.at>>();
  return {
    generated: () => generated.add(),
    rejected: () => rejections.add(),
    recorded(recording) {
      const level = recording?.level ?? 'None';
      let counted = byLevel.get(level);
      if (!counted) byLevel.set(level, (counted = levels.at({level})));
      counted.add();
    },
  };
};
