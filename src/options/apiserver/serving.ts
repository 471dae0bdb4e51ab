import {flagSection} from '#src/options/flag.js';
import {http2Streams, listening, profiling, sniCertificates, tlsFiles, tlsLimits} from '#src/options/shared/serving.js';

const hstsDirective = /^(?:max-age=\d+|includeSubDomains|preload)$/;

const validateHsts = (directives: readonly string[]): string | undefined => {
  const invalid = directives.find(directive => directive !== '' && !hstsDirective.test(directive));
  return invalid === undefined ? undefined : `"${invalid}" is none of max-age=<seconds>, includeSubDomains, preload`;
};

/** Go's inline flags are no part of JavaScript's syntax; the server compiles the pattern as RE2. */
const isPattern = (text: string): boolean => {
  try {
    return Boolean(new RegExp(text.replaceAll(/\(\?[imsU-]+\)/g, ''), 'u'));
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
    help: 'The HTTPS port, with authentication and authorization. It cannot be turned off: 0 selects a free port and prints it.',
    default: '6443',
  },
  'advertise-address': {
    type: 'ip',
    help: 'The address advertised to members of the cluster, which must be able to reach it. Blank: the bind address, or the address of the default interface if that is unspecified.',
  },
  'external-hostname': {type: 'string', help: 'The host name in URLs for external clients (API documents, discovery).'},
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
    help: 'Serve the files of /var/log under /logs.',
    deprecated: 'the handler will be removed',
  },
  profiling: profiling.profiling,
  'contention-profiling': profiling['contention-profiling'],
  'egress-selector-config-file': {
    type: 'path',
    help: 'File with the egress selector configuration: how connections to the control plane, the cluster and etcd are made.',
  },
  'tracing-config-file': {
    type: 'path',
    help: 'The file that configures tracing: the collector that receives the spans of requests (OpenTelemetry, OTLP over gRPC), and how many requests are sampled.',
  },
});

/** Flags of request limits, timeouts and graceful shutdown. */
export const limits = flagSection('Limits', {
  'max-requests-inflight': {
    type: 'int',
    help: 'Maximum number of non-mutating requests in flight. With priority and fairness, the limit is the sum of this and the next value, which must be positive; otherwise 0 means no limit.',
    default: '400',
    range: {min: 0},
  },
  'max-mutating-requests-inflight': {
    type: 'int',
    help: 'Maximum number of mutating requests in flight; added to the previous value, and 0 has the same meaning.',
    default: '200',
    range: {min: 0},
  },
  'enable-priority-and-fairness': {
    type: 'bool',
    help: 'Replace the limits of requests in flight with priority and fairness: the sum of the two limits is divided among priority levels, in which requests wait in queues. See docs/flow-control.md.',
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
    help: 'The minimum time, in seconds, for which a watch is kept open; each watch gets a random time above it.',
    default: '1800',
    range: {min: 1},
  },
  'max-connection-bytes-per-sec': {
    type: 'int',
    help: 'If not 0, the rate limit in bytes per second of each upgraded connection to a pod, node or service (exec, attach, port-forward, proxy), in each direction.',
    default: '0',
    range: {min: 0},
  },
  'max-waiting-response-bytes': {
    type: 'quantity',
    help: 'Maximum number of bytes that may wait for slow readers in all responses and watches. Above it, the connections that have been idle for the longest time are closed.',
    default: '256Mi',
    range: {min: 1},
  },
  'max-connections': {
    type: 'int',
    help: 'Maximum number of connections of the secure port. Above it the oldest connection without a request is closed, of the address with the most connections. 0 means no limit.',
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
    help: 'While requests drain, keep listening and respond to new ones with 429, Retry-After and Connection: close.',
  },
  'shutdown-watch-termination-grace-period': {
    type: 'duration',
    help: 'The longest wait for active watches to end when the server stops.',
    range: {min: '0'},
  },
  'goaway-chance': {
    type: 'float',
    help: 'The probability that a request gets an HTTP/2 GOAWAY, so that clients are spread over several servers. From 0 (off) to 0.02.',
    default: '0',
    range: {min: 0, max: 0.02},
  },
  ...http2Streams,
});
