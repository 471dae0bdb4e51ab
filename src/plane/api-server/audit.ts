// Opens the audit of an API server from its flags: the policy, and the log and the webhook that take the events.

import {createAuditor, type Auditor} from '#src/apiserver/audit/auditor.js';
import {auditMetrics} from '#src/apiserver/audit/audit-metrics.js';
import {BatchSink, type BatchOptions} from '#src/apiserver/audit/batch-sink.js';
import {AuditFailures} from '#src/apiserver/audit/failures.js';
import {LogFile} from '#src/apiserver/audit/log-file.js';
import {LogSink, type LineWriter} from '#src/apiserver/audit/log-sink.js';
import {streamWriter} from '#src/apiserver/audit/output.js';
import type {Policy} from '#src/apiserver/audit/policy.js';
import {readPolicy} from '#src/apiserver/audit/policy-file.js';
import {ignoringFailures, union, type AuditSink} from '#src/apiserver/audit/sink.js';
import {truncating} from '#src/apiserver/audit/truncating-sink.js';
import {WebhookSink} from '#src/apiserver/audit/webhook-sink.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {connect, type HttpConnection} from '#src/transport/client/http-connection.js';
import type {Network} from '#src/transport/network.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {explained, readFlagFile} from './authentication/authentication.js';

export interface AuditParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Meter;
  /** The network of the webhook; by default that of this machine. */
  readonly network?: Network | undefined;
}

/** The audit of a server. */
export interface ServerAudit {
  /** Absent if no events are recorded. */
  readonly auditor: Auditor | undefined;
  /** Records what is buffered, and closes the log and the connections. */
  close(): Promise<void>;
}

/**
 * Opens the audit that the flags configure. Rejects with an error of one line that names the flag of a file that cannot
 * be used.
 */
export const openAudit = async (options: ApiserverOptions, parts: AuditParts): Promise<ServerAudit> => {
  const {naming, clock, metrics: meter, log} = parts;
  const policy = policyOf(options, parts);
  const metrics = auditMetrics(meter);
  const failures = new AuditFailures({meter, clock, log: log.child({component: 'audit'})});
  const sinks: AuditSink[] = [];
  if (options.auditLogPath !== '') {
    const writer = await logWriter(options, parts);
    if (policy) sinks.push(inMode(new LogSink(writer, options.auditLogFormat, failures), logOptions(options), {...parts, failures}));
    else await unused('log', writer, log);
  }
  if (options.auditWebhookConfigFile !== '') {
    const connection = await webhookConnection(options, parts);
    if (policy) sinks.push(inMode(webhookSink(options, connection, {...parts, failures}), webhookOptions(options), {...parts, failures}));
    else await unused('webhook', {close: async () => connection[Symbol.asyncDispose]()}, log);
  }
  const {auditLogVersion: apiVersion} = options;
  const sink = union(sinks);
  return {
    auditor: policy && sinks.length > 0 ? createAuditor(policy, {naming, clock, apiVersion, sink, metrics}) : undefined,
    async close() {
      if (sinks.length > 0) await sink.close();
    },
  };
};

const policyOf = ({auditPolicyFile: file}: ApiserverOptions, parts: AuditParts): Policy | undefined => {
  if (file === '') return undefined;
  const text = readFlagFile('audit-policy-file', file).toString();
  return explained('audit-policy-file', file, () => readPolicy(text, parts));
};

const unused = async (backend: string, opened: {close(): Promise<void>}, log: Log): Promise<void> => {
  log.warn({backend}, 'no audit policy file is given: no events will be recorded');
  await opened.close();
};

/** Without `--audit-log-maxsize`, a file is rotated at this size, in megabytes. */
const defaultMegabytes = 100;

const logWriter = async (options: ApiserverOptions, {clock, log}: AuditParts): Promise<LineWriter> => {
  const {auditLogPath: path} = options;
  if (path === '-') return streamWriter(process.stdout);
  try {
    return await LogFile.open({
      path,
      maxBytes: (options.auditLogMaxsize || defaultMegabytes) << 20,
      retention: {maxAgeDays: options.auditLogMaxage, maxFiles: options.auditLogMaxbackup, compress: options.auditLogCompress},
      clock,
      log: log.child({component: 'audit'}),
    });
  } catch (cause) {
    throw new Error(`--audit-log-path: ${(cause as Error).message}`, {cause});
  }
};

const webhookConnection = async (
  {auditWebhookConfigFile: file}: ApiserverOptions,
  {clock, log, network}: AuditParts,
): Promise<HttpConnection> => {
  const settings = await loadSettings({file, fileFlag: '--audit-webhook-config-file', env: {}});
  try {
    return await connect(settings, {clock, log, network});
  } catch (cause) {
    throw new Error(`--audit-webhook-config-file: ${(cause as Error).message}`, {cause});
  }
};

const webhookSink = (
  {auditWebhookInitialBackoff: initialBackoffMs, auditWebhookVersion: apiVersion}: ApiserverOptions,
  connection: HttpConnection,
  {naming, clock, random, failures}: AuditParts & {readonly failures: AuditFailures},
): AuditSink => {
  const path = `${new URL(connection.server).pathname === '/' ? '/' : ''}?timeout=30s`;
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, */*',
    'User-Agent': naming.component('apiserver-audit'),
  };
  return new WebhookSink({
    clock,
    random,
    failures,
    apiVersion,
    initialBackoffMs,
    async post(body, timeoutMs) {
      using _ = clock.hold();
      const {status} = await connection.send({method: 'POST', path, headers, body, timeoutMs});
      if (status < 200 || status > 206) throw new Error(`${connection.server} answered ${status}`);
    },
    close: async () => connection[Symbol.asyncDispose](),
  });
};

/** The options that log and webhook have in common. */
interface BackendOptions extends BatchOptions {
  readonly mode: ApiserverOptions['auditLogMode'];
  /**
   * Whether the sink waits by itself for nothing that comes later: then the first event of a request does not hold it
   * up.
   */
  readonly keepsOrder: boolean;
  /** Undefined if events are not truncated. */
  readonly maxEventBytes: number | undefined;
}

const logOptions = (options: ApiserverOptions): BackendOptions => ({
  mode: options.auditLogMode,
  keepsOrder: true,
  bufferSize: options.auditLogBatchBufferSize,
  maxBatchSize: options.auditLogBatchMaxSize,
  maxBatchBytes: options.auditLogTruncateEnabled ? options.auditLogTruncateMaxBatchSize : Infinity,
  maxWaitMs: options.auditLogBatchMaxWait,
  throttle: options.auditLogBatchThrottleEnable
    ? {qps: options.auditLogBatchThrottleQps, burst: options.auditLogBatchThrottleBurst}
    : undefined,
  maxEventBytes: options.auditLogTruncateEnabled ? options.auditLogTruncateMaxEventSize : undefined,
});

const webhookOptions = (options: ApiserverOptions): BackendOptions => ({
  mode: options.auditWebhookMode,
  keepsOrder: false,
  bufferSize: options.auditWebhookBatchBufferSize,
  maxBatchSize: options.auditWebhookBatchMaxSize,
  maxBatchBytes: options.auditWebhookTruncateEnabled ? options.auditWebhookTruncateMaxBatchSize : Infinity,
  maxWaitMs: options.auditWebhookBatchMaxWait,
  throttle: options.auditWebhookBatchThrottleEnable
    ? {qps: options.auditWebhookBatchThrottleQps, burst: options.auditWebhookBatchThrottleBurst}
    : undefined,
  maxEventBytes: options.auditWebhookTruncateEnabled ? options.auditWebhookTruncateMaxEventSize : undefined,
});

/** The sink with its mode and truncation, as upstream stacks them. */
const inMode = (sink: AuditSink, options: BackendOptions, parts: AuditParts & {readonly failures: AuditFailures}): AuditSink => {
  const {mode, keepsOrder, maxEventBytes} = options;
  const modal = mode === 'batch' ? new BatchSink(sink, options, parts) : mode === 'blocking' ? ignoringFailures(sink, !keepsOrder) : sink;
  return maxEventBytes === undefined ? modal : truncating(modal, {...parts, maxEventBytes});
};
