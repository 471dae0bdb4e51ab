import {flagSection} from '#src/options/flag.js';
import {validateLeaseTimes} from '#src/options/rules.js';

/** Flags of API aggregation, peer proxying and coordinated leader election. */
export const aggregation = flagSection('Aggregation and proxying', {
  'enable-aggregator-routing': {
    type: 'bool',
    help: 'Send requests to the endpoint addresses of a service instead of its cluster IP.',
  },
  'aggregator-reject-forwarding-redirect': {
    type: 'bool',
    help: 'Refuse redirects of an aggregated API server instead of passing them to the client.',
    default: 'true',
  },
  'proxy-client-cert-file': {
    type: 'path',
    help: 'The client certificate with which the server authenticates to aggregated API servers and admission webhooks. Expected to be signed by the CA of --requestheader-client-ca-file.',
    requires: ['proxy-client-key-file'],
  },
  'proxy-client-key-file': {
    type: 'path',
    help: 'The private key of --proxy-client-cert-file.',
    requires: ['proxy-client-cert-file'],
  },
  'peer-advertise-ip': {
    type: 'ip',
    help: 'The address at which other API servers reach this one to pass on requests they cannot serve themselves; by default the advertised address. Effective only with --peer-advertise-port, and with the gate UnknownVersionInteroperabilityProxy.',
    gate: 'UnknownVersionInteroperabilityProxy',
  },
  'peer-advertise-port': {
    type: 'port',
    help: 'The port beside --peer-advertise-ip. Effective with the gate UnknownVersionInteroperabilityProxy.',
    gate: 'UnknownVersionInteroperabilityProxy',
  },
  'peer-ca-file': {
    type: 'path',
    help: "The CA that other API servers' serving certificates are checked with. Without it no request is passed on to them. Effective with the gate UnknownVersionInteroperabilityProxy.",
    gate: 'UnknownVersionInteroperabilityProxy',
  },
  'coordinated-leadership-lease-duration': {
    type: 'duration',
    help: 'The length of a lease in coordinated leader election.',
    default: '15s',
    range: {above: '0'},
  },
  'coordinated-leadership-renew-deadline': {
    type: 'duration',
    help: 'The time within which a leader must renew such a lease.',
    default: '10s',
    range: {above: '0'},
  },
  'coordinated-leadership-retry-period': {
    type: 'duration',
    help: 'The time between attempts to acquire or renew it.',
    default: '2s',
    range: {above: '0'},
  },
});

/** Peers trust the user of a request only because of the certificate. */
export const validatePeers = (options: {readonly peerCaFile: string; readonly proxyClientCertFile: string}): string | undefined =>
  options.peerCaFile && !options.proxyClientCertFile ? '--peer-ca-file requires --proxy-client-cert-file' : undefined;

interface CoordinationOptions {
  readonly coordinatedLeadershipLeaseDuration: number;
  readonly coordinatedLeadershipRenewDeadline: number;
  readonly coordinatedLeadershipRetryPeriod: number;
}

/** Validates the order of the coordinated election's times. */
export const validateCoordination = (options: CoordinationOptions): string | undefined =>
  validateLeaseTimes('coordinated-leadership', {
    leaseDuration: options.coordinatedLeadershipLeaseDuration,
    renewDeadline: options.coordinatedLeadershipRenewDeadline,
    retryPeriod: options.coordinatedLeadershipRetryPeriod,
  });
