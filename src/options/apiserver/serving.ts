import {flagSection, notSupportedYet} from '#src/options/flag.js';
import {http2Streams, listening, profiling, sniCertificates, tlsFiles, tlsLimits} from '#src/options/shared/serving.js';

const hstsDirective = /^(?:max-age=\d+|includeSubDomains|preload)$/;

const validateHsts = (directives: readonly string[]): string | undefined => {
  const invalid = directives.find(directive => directive !== '' && !hstsDirective.test(directive));
  return invalid === undefined ? undefined : `"${invalid}" is none of max-age=<seconds>, includeSubDomains, preload`;
};

const isPattern = (text: string): boolean => {
  try {
    return Boolean(new RegExp(text, 'u'));
  } catch {
    return false;
  }
};

/** A pattern that is not anchored at both ends would match unintended hosts. */
const validateOrigins = (origins: readonly string[]): string | undefined => {
  for (const origin of origins) {
    if (!isPattern(origin)) return `"${origin}" is not a regular expression`;
    if (!/\^|\/\//.test(origin)) return `"${origin}" is not anchored at the start of the host`;
    if (!/[$:]/.test(origin.replace(/:\/\//g, ''))) return `"${origin}" is not anchored at the end of the host`;
  }
  return undefined;
};

/** Flags of the API server's listener. */
export const serving = flagSection('Serving and network', {
  'bind-address': {
    type: 'ip',
    help: 'The address of the secure port. Blank or an unspecified address (0.0.0.0 or ::) means all interfaces and address families.',
    default: '0.0.0.0',
  },
  'secure-port': {
    type: 'port',
    help: 'The HTTPS port, with authentication and authorization. It cannot be turned off: 0 takes a free port and prints it.',
    default: '6443',
  },
  'advertise-address': {
    type: 'ip',
    help: 'The address advertised to members of the cluster, which must be able to reach it. Blank: the bind address, or the address of the default interface if that is unspecified.',
  },
  'external-hostname': {type: 'string', help: 'The host name in URLs meant for outside (API documents, discovery).'},
  'cert-dir': {
    type: 'path',
    help: 'The directory of TLS certificates. Ignored when --tls-cert-file and --tls-private-key-file are given.',
    default: '/var/run/plat',
  },
  ...tlsFiles,
  ...sniCertificates,
  ...tlsLimits,
  ...listening,
  'strict-transport-security-directives': {
    type: 'strings',
    help: 'Directives of the HSTS header: max-age=<seconds>, includeSubDomains, preload. Empty sends no header.',
    check: validateHsts,
  },
  'cors-allowed-origins': {
    type: 'strings',
    help: 'Origins that may use the API from a browser, each a regular expression anchored at both ends. Empty turns CORS off.',
    check: validateOrigins,
  },
  'debug-socket-path': {
    type: 'path',
    help: 'A Unix socket for profiling, without authentication or authorization.',
  },
  'enable-logs-handler': {
    type: 'bool',
    help: 'Serve the log files under /logs.',
    deprecated: 'the handler will be removed',
    implementation: 'pending',
  },
  profiling: profiling.profiling,
  'contention-profiling': profiling['contention-profiling'],
  'egress-selector-config-file': {
    type: 'path',
    help: 'File with the egress selector configuration.',
    refused: notSupportedYet('leave it out; every connection goes out directly'),
  },
  'tracing-config-file': {
    type: 'path',
    help: 'The file that configures tracing.',
    refused: notSupportedYet('leave it out; with -v=3 the log contains the duration of requests'),
  },
});

/** Flags of request limits, timeouts and graceful shutdown. */
export const limits = flagSection('Limits', {
  'max-requests-inflight': {
    type: 'int',
    help: 'Requests that change nothing in flight at once. With priority and fairness on, it is added to the next figure, and the sum must be positive; otherwise 0 means no limit.',
    default: '400',
    range: {min: 0},
  },
  'max-mutating-requests-inflight': {
    type: 'int',
    help: 'Requests that change something in flight at once; added up or 0 as the previous flag says.',
    default: '200',
    range: {min: 0},
  },
  'enable-priority-and-fairness': {
    type: 'bool',
    help: 'Hold requests to one limit, the sum of --max-requests-inflight and --max-mutating-requests-inflight. Queues and fairness between users are not built yet: requests above the limit are refused with 429, as without the flag.',
    default: 'true',
  },
  'request-timeout': {
    type: 'duration',
    help: 'How long a handler keeps a request open unless the request asks for less. Watches are governed by --min-request-timeout.',
    default: '1m0s',
    range: {above: '0'},
  },
  'min-request-timeout': {
    type: 'int',
    help: 'The shortest time, in seconds, a watch is kept open; each gets a random time above it.',
    default: '1800',
    range: {min: 1},
  },
  'max-connection-bytes-per-sec': {
    type: 'int',
    help: 'If not 0, every connection of a user is slowed to this many bytes a second (long-running requests only).',
    default: '0',
    range: {min: 0},
    refused: notSupportedYet('leave it out, and slow connections down in front of the server'),
  },
  'max-waiting-response-bytes': {
    type: 'quantity',
    help: 'How much may wait for readers in all responses and watches together. Beyond it the connections of those are closed who have taken nothing for the longest time.',
    default: '256Mi',
    range: {min: 1},
  },
  'max-connections': {
    type: 'int',
    help: 'How many connections the secure port takes at once; further ones are closed at once. 0 means no limit.',
    default: '10000',
    range: {min: 0},
  },
  'livez-grace-period': {
    type: 'duration',
    help: 'How long after the start /livez counts start hooks that are not finished as successful.',
    range: {min: '0'},
  },
  'shutdown-delay-duration': {
    type: 'duration',
    help: 'How long the server continues to serve after the termination signal. /healthz and /livez succeed meanwhile; /readyz fails at once.',
    default: '0',
    range: {min: '0'},
  },
  'shutdown-send-retry-after': {
    type: 'bool',
    help: 'While requests drain, keep listening and answer new ones with 429, Retry-After and Connection: close.',
  },
  'shutdown-watch-termination-grace-period': {
    type: 'duration',
    help: 'The longest wait for active watches to end when the server stops.',
    range: {min: '0'},
  },
  'goaway-chance': {
    type: 'float',
    help: 'The part of requests that get an HTTP/2 GOAWAY, so that clients spread over several servers. From 0 (off) to 0.02.',
    default: '0',
    range: {min: 0, max: 0.02},
  },
  ...http2Streams,
});
