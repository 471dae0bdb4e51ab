import {flagSection} from '#src/options/flag.js';
import {http2Streams, listening, profiling, requestHeader, sniCertificates, tlsFiles, tlsLimits} from '#src/options/shared/serving.js';

/** Flags of the controller manager's own HTTPS server: authentication, authorization and certificates. */
export const serving = flagSection('Authentication', {
  'authentication-kubeconfig': {
    type: 'path',
    help: 'Connection settings with the right to create token reviews. Without them, requests with a bearer token are anonymous, and no client CA is read from the cluster.',
  },
  'authorization-kubeconfig': {
    type: 'path',
    help: 'Connection settings with the right to create subject access reviews. Without them, every request that is not exempt from authorization is forbidden.',
  },
  'authentication-skip-lookup': {
    type: 'bool',
    help: 'Do not read missing authentication configuration from the cluster with --authentication-kubeconfig.',
  },
  'authentication-tolerate-lookup-failure': {
    type: 'bool',
    help: 'Continue when reading that configuration fails; all requests may then be treated as anonymous.',
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    help: 'How long token review results are cached.',
    default: '10s',
    range: {min: '0'},
  },
  'authorization-always-allow-paths': {
    type: 'strings',
    help: 'Paths that are allowed without a request to the API server.',
    default: '/healthz,/readyz,/livez',
  },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    help: 'How long an authorization result that allows a request is cached.',
    default: '10s',
    range: {min: '0'},
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    help: 'How long an authorization result that does not allow a request is cached.',
    default: '10s',
    range: {min: '0'},
  },
  'client-ca-file': {type: 'path', help: 'Authorities whose client certificates identify a caller by common name.'},
  ...requestHeader({user: 'x-remote-user', group: 'x-remote-group', extra: 'x-remote-extra-'}),
  'bind-address': {
    type: 'ip',
    help: 'The address of the secure port. Blank or an unspecified address (0.0.0.0 or ::) means all interfaces and address families.',
    default: '0.0.0.0',
  },
  'secure-port': {type: 'port', help: 'The HTTPS port, with authentication and authorization. 0 serves no HTTPS at all.', default: '10257'},
  'cert-dir': {type: 'path', help: 'The directory of TLS certificates. Ignored when --tls-cert-file and --tls-private-key-file are given.'},
  ...tlsFiles,
  ...sniCertificates,
  ...tlsLimits,
  ...listening,
  ...http2Streams,
  ...profiling,
});
