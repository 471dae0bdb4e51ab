import {naming, type NamingName} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';

const version = naming('plat').apiVersion('audit', 'v1');
/** The version in either naming; the events have that of the server's. */
const versions = [version, naming('kubernetes').apiVersion('audit', 'v1')];
const modes = ['batch', 'blocking', 'blocking-strict'] as const;

/** Flags of the audit log and the audit webhook. */
export const audit = flagSection('Audit', {
  'audit-policy-file': {
    type: 'path',
    help: 'File with the audit policy, which defines the events that are recorded and their level.',
  },
  'audit-log-path': {
    type: 'string',
    help: 'The file events are written to; "-" is standard out. Unset writes none.',
  },
  'audit-log-mode': {
    type: 'string',
    help: 'How the log is written. "batch" buffers and writes later; "blocking" holds a response until its event is written; "blocking-strict" also fails the request when that fails.',
    default: 'blocking',
    oneOf: modes,
  },
  'audit-log-version': {
    type: 'string',
    help: 'The API version of events in the log.',
    default: version,
    oneOf: versions,
  },
  'audit-log-batch-buffer-size': {
    type: 'int',
    help: 'Size of the buffer of events before they are written (batch mode).',
    default: '10000',
    range: {above: 0},
  },
  'audit-log-batch-max-size': {
    type: 'int',
    help: 'Maximum number of events in a batch (batch mode).',
    default: '1',
    range: {above: 0},
  },
  'audit-log-batch-max-wait': {
    type: 'duration',
    help: 'The longest wait for a batch to fill (batch mode).',
    shownDefault: 'unset',
    range: {min: '0'},
  },
  'audit-log-batch-throttle-burst': {
    type: 'int',
    help: 'Batches that may be sent at once (batch mode).',
    shownDefault: 'unset',
    range: {min: 0},
  },
  'audit-log-batch-throttle-enable': {
    type: 'bool',
    help: 'Enable throttling of batches (batch mode).',
    shownDefault: 'unset',
  },
  'audit-log-batch-throttle-qps': {
    type: 'float',
    help: 'Maximum average number of batches per second (batch mode).',
    shownDefault: 'unset',
    range: {min: 0},
  },
  'audit-log-truncate-enabled': {
    type: 'bool',
    help: 'Truncate events and batches that are too large.',
    shownDefault: 'unset',
  },
  'audit-log-truncate-max-batch-size': {
    type: 'int',
    help: 'The largest batch in bytes; a larger one is split.',
    default: '10485760',
    range: {above: 0},
  },
  'audit-log-truncate-max-event-size': {
    type: 'int',
    help: 'The largest event in bytes; a larger one loses its bodies, and is dropped if that is not enough.',
    default: '102400',
    range: {above: 0},
  },
  'audit-log-format': {
    type: 'string',
    help: 'The form of the log: json, or legacy for one line of text an event.',
    default: 'json',
    oneOf: ['json', 'legacy'],
  },
  'audit-log-maxage': {
    type: 'int',
    help: 'Maximum number of days for which old log files are retained. 0 sets no limit.',
    range: {min: 0},
  },
  'audit-log-maxbackup': {type: 'int', help: 'Maximum number of old log files. 0 retains all.', range: {min: 0}},
  'audit-log-maxsize': {
    type: 'int',
    help: 'Megabytes a log file grows to before it is rotated.',
    range: {min: 0},
  },
  'audit-log-compress': {type: 'bool', help: 'Compress old log files.'},
  'audit-webhook-config-file': {type: 'path', help: 'Connection settings of the webhook events are sent to.'},
  'audit-webhook-mode': {
    type: 'string',
    help: 'How events are sent; the values of --audit-log-mode.',
    default: 'batch',
    oneOf: modes,
  },
  'audit-webhook-version': {
    type: 'string',
    help: 'The API version of events sent.',
    default: version,
    oneOf: versions,
  },
  'audit-webhook-batch-buffer-size': {
    type: 'int',
    help: 'Size of the buffer of events before they are sent (batch mode).',
    default: '10000',
    range: {above: 0},
  },
  'audit-webhook-batch-max-size': {
    type: 'int',
    help: 'Maximum number of events in a batch (batch mode).',
    default: '400',
    range: {above: 0},
  },
  'audit-webhook-batch-max-wait': {
    type: 'duration',
    help: 'The longest wait for a batch to fill (batch mode).',
    default: '30s',
    range: {min: '0'},
  },
  'audit-webhook-batch-throttle-burst': {
    type: 'int',
    help: 'Batches that may be sent at once (batch mode).',
    default: '15',
    range: {min: 0},
  },
  'audit-webhook-batch-throttle-enable': {
    type: 'bool',
    help: 'Enable throttling of batches (batch mode).',
    default: 'true',
  },
  'audit-webhook-batch-throttle-qps': {
    type: 'float',
    help: 'Maximum average number of batches per second (batch mode).',
    default: '10',
    range: {min: 0},
  },
  'audit-webhook-truncate-enabled': {
    type: 'bool',
    help: 'Truncate events and batches that are too large.',
    shownDefault: 'unset',
  },
  'audit-webhook-truncate-max-batch-size': {
    type: 'int',
    help: 'The largest batch in bytes; a larger one is split.',
    default: '10485760',
    range: {above: 0},
  },
  'audit-webhook-truncate-max-event-size': {
    type: 'int',
    help: 'The largest event in bytes; a larger one loses its bodies, and is dropped if that is not enough.',
    default: '102400',
    range: {above: 0},
  },
  'audit-webhook-initial-backoff': {
    type: 'duration',
    help: 'How long to wait before the first failed request is sent again.',
    default: '10s',
    range: {above: '0'},
  },
});

interface Backend {
  readonly mode: string;
  readonly bufferSize: number;
  readonly maxSize: number;
  readonly throttle: boolean;
  readonly qps: number;
  readonly burst: number;
  readonly truncate: boolean;
  readonly maxEvent: number;
  readonly maxBatch: number;
}

const validateAuditBackend = (prefix: string, backend: Backend): string | undefined => {
  if (backend.mode === 'batch') {
    if (backend.maxSize > backend.bufferSize) return `--${prefix}-batch-max-size must not exceed --${prefix}-batch-buffer-size`;
    if (backend.throttle && backend.qps <= 0) return `--${prefix}-batch-throttle-qps must be greater than 0 when throttling is on`;
    if (backend.throttle && backend.burst <= 0) return `--${prefix}-batch-throttle-burst must be greater than 0 when throttling is on`;
  }
  if (backend.truncate && backend.maxEvent > backend.maxBatch)
    return `--${prefix}-truncate-max-event-size must not exceed --${prefix}-truncate-max-batch-size`;
  return undefined;
};

const ownVersion = (options: Readonly<Record<string, unknown>>): string =>
  naming(options['naming'] as NamingName).apiVersion('audit', 'v1');

/** The versions of events, which are those of the server's naming. */
export const auditVersions = (options: Readonly<Record<string, unknown>>): {auditLogVersion: string; auditWebhookVersion: string} => ({
  auditLogVersion: ownVersion(options),
  auditWebhookVersion: ownVersion(options),
});

/** A version that is given must be that of the server's naming. */
const validateVersions = (options: Readonly<Record<string, unknown>>, given: Given): string | undefined => {
  const own = ownVersion(options);
  for (const [flag, name] of [
    ['audit-log-version', 'auditLogVersion'],
    ['audit-webhook-version', 'auditWebhookVersion'],
  ] as const)
    if (given.has(flag) && options[name] !== own) return `--${flag} must be ${own} with --naming=${String(options['naming'])}`;
  return undefined;
};

/**
 * Validates versions, and buffer and batch sizes of the configured backends: batches must fit the buffer, and events
 * must fit a batch.
 */
export const validateAudit = (options: Readonly<Record<string, unknown>>, given: Given): string | undefined => {
  const backend = (name: string): Backend => ({
    mode: options[`${name}Mode`] as string,
    bufferSize: options[`${name}BatchBufferSize`] as number,
    maxSize: options[`${name}BatchMaxSize`] as number,
    throttle: options[`${name}BatchThrottleEnable`] as boolean,
    qps: options[`${name}BatchThrottleQps`] as number,
    burst: options[`${name}BatchThrottleBurst`] as number,
    truncate: options[`${name}TruncateEnabled`] as boolean,
    maxEvent: options[`${name}TruncateMaxEventSize`] as number,
    maxBatch: options[`${name}TruncateMaxBatchSize`] as number,
  });
  return (
    validateVersions(options, given) ??
    (given.has('audit-log-path') ? validateAuditBackend('audit-log', backend('auditLog')) : undefined) ??
    (given.has('audit-webhook-config-file') ? validateAuditBackend('audit-webhook', backend('auditWebhook')) : undefined)
  );
};
