import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {AuditMetrics} from './audit-metrics.js';
import type {AuditSink} from './sink.js';

/** What the audits of all requests share. */
export interface AuditorSettings {
  readonly naming: Naming;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The group version of events on the wire. */
  readonly apiVersion: string;
  readonly sink: AuditSink;
  readonly metrics: AuditMetrics;
}

/** The settings, with what follows from them. */
export interface RequestAuditSettings extends AuditorSettings {
  /** The keys of the annotations that every request has. */
  readonly keys: {readonly decision: string; readonly reason: string};
}
