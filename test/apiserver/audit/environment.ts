import {auditMetrics} from '#src/apiserver/audit/audit-metrics.js';
import {createAuditor} from '#src/apiserver/audit/auditor.js';
import {AuditFailures} from '#src/apiserver/audit/failures.js';
import {LogSink, type LineWriter, type LogFormat} from '#src/apiserver/audit/log-sink.js';
import type {Policy, PolicyRule} from '#src/apiserver/audit/policy.js';
import {ignoringFailures, type AuditSink} from '#src/apiserver/audit/sink.js';
import {naming} from '#src/api/naming.js';
import type {Labels} from '#src/base/meter.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {ServerOptions} from '#test/fixtures/server.js';
import {startWire} from '#test/apiserver/wire.js';

/** An event as it is recorded. */
export interface RecordedEvent {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: {readonly username?: string; readonly uid?: string; readonly groups?: string[]; readonly extra?: Record<string, string[]>};
  readonly impersonatedUser?: object;
  readonly sourceIPs?: string[];
  readonly userAgent?: string;
  readonly objectRef?: Record<string, string>;
  readonly responseStatus?: {readonly code: number; readonly message?: string; readonly reason?: string; readonly details?: object};
  readonly requestObject?: Record<string, unknown>;
  readonly responseObject?: Record<string, unknown> & {readonly items?: readonly Record<string, unknown>[]};
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Record<string, string>;
}

/** A log in memory. */
export class Lines implements LineWriter {
  lines: string[] = [];
  /** Thrown instead of writing, if set. */
  failure: Error | undefined;

  write(line: Buffer): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    this.lines.push(line.toString());
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get events(): RecordedEvent[] {
    return this.lines.map(line => JSON.parse(line) as RecordedEvent);
  }
}

export interface AuditOptions extends ServerOptions {
  readonly policy?: Partial<Policy>;
  /** The only rule of the policy. */
  readonly rule?: PolicyRule;
  readonly format?: LogFormat;
  readonly mode?: 'blocking' | 'blocking-strict';
  /** Stands before the log. */
  before?(sink: AuditSink, failures: AuditFailures): AuditSink;
}

/** A server that records requests in a log in memory. What came before the test is not in it. */
export const startAudited = async ({
  rule = {level: 'Metadata'},
  policy,
  format = 'json',
  mode = 'blocking',
  before = sink => sink,
  clock = new VirtualClock(),
  ...options
}: AuditOptions = {}) => {
  const words = options.naming ?? naming('plat');
  const meter = new MetricsRegistry();
  const log = new Lines();
  const failures = new AuditFailures({meter, clock, log: noLog});
  const strict = new LogSink(log, format, failures);
  const sink = before(mode === 'blocking' ? ignoringFailures(strict, false) : strict, failures);
  const auditor = createAuditor(
    {rules: [rule], ...policy},
    {naming: words, clock, apiVersion: words.apiVersion('audit', 'v1'), sink, metrics: auditMetrics(meter)},
  );
  const env = await startWire({...options, clock, meter, auditor, ...(options.naming ? {namingName: options.naming.name} : {})});
  log.lines = [];
  const metric = (name: string, labels: Labels = {}): number | undefined => meter.value(`apiserver_audit_${name}`, labels);
  return {...env, log, metric};
};

/** The events of a stage, or all but the first of each request. */
export const ofStage = (log: Lines, stage = 'ResponseComplete'): RecordedEvent[] => log.events.filter(event => event.stage === stage);

/** The only event of a stage. */
export const one = (log: Lines, stage = 'ResponseComplete'): RecordedEvent => {
  const [event, ...more] = ofStage(log, stage);
  if (!event || more.length > 0) throw new Error(`${more.length + (event ? 1 : 0)} events of the stage ${stage}:\n${log.lines.join('')}`);
  return event;
};
