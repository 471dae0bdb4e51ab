import {flagSection} from '#src/options/flag.js';
import {tlsFiles, tlsLimits} from '#src/options/shared/serving.js';
import {inFile} from './markers.js';

/** Flags of the node agent's server, its authentication and authorization, and the agent's own credentials. */
export const serving = flagSection('Authentication and authorization', {
  'anonymous-auth': {
    ...inFile,
    type: 'bool',
    help: 'Serve requests that no method rejected or recognised as user system:anonymous in group system:unauthenticated.',
    default: 'true',
  },
  'authentication-token-webhook': {...inFile, type: 'bool', help: 'Authenticate bearer tokens with the TokenReview API.'},
  'authentication-token-webhook-cache-ttl': {
    ...inFile,
    type: 'duration',
    help: 'How long its results are cached.',
    default: '2m0s',
    range: {min: '0'},
  },
  'authorization-mode': {
    ...inFile,
    type: 'string',
    help: 'Authorization mode of the server: AlwaysAllow, or Webhook to use the SubjectAccessReview API.',
    default: 'AlwaysAllow',
    oneOf: ['AlwaysAllow', 'Webhook'],
  },
  'authorization-webhook-cache-authorized-ttl': {
    ...inFile,
    type: 'duration',
    help: 'How long an authorization result that allows a request is cached.',
    default: '5m0s',
    range: {min: '0'},
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    ...inFile,
    type: 'duration',
    help: 'How long an authorization result that does not allow a request is cached.',
    default: '30s',
    range: {min: '0'},
  },
  'client-ca-file': {...inFile, type: 'path', help: 'Authorities whose client certificates identify a caller by common name.'},
  'read-only-port': {
    ...inFile,
    type: 'port',
    label: 'int32',
    help: 'A port that can be read without authentication or authorization. 0 serves none.',
    default: '10255',
  },
  port: {...inFile, type: 'port', label: 'int32', help: 'The port of the server.', default: '10250', range: {min: 1}},
  address: {...inFile, type: 'ip', help: 'The address of the server (0.0.0.0 or :: for all).', default: '0.0.0.0'},
  'tls-cert-file': {...tlsFiles['tls-cert-file'], ...inFile},
  'tls-private-key-file': {...tlsFiles['tls-private-key-file'], ...inFile},
  'tls-cipher-suites': {...tlsLimits['tls-cipher-suites'], ...inFile},
  'tls-min-version': {...tlsLimits['tls-min-version'], ...inFile},
  'bootstrap-kubeconfig': {
    type: 'path',
    help: 'Connection settings used to get a client certificate when the file named by --platconfig does not exist, or has no valid one. That file is then written, and the certificate and key are kept in the certificate directory.',
    requires: ['platconfig'],
  },
  platconfig: {
    type: 'path',
    help: 'The file with connection settings. With it the agent receives pods from the API server; without it the agent runs standalone: the pods of its files and URLs alone, without a Node.',
    aliases: ['kubeconfig'],
  },
  'cert-dir': {
    type: 'path',
    help: 'The directory of TLS certificates. Ignored when --tls-cert-file and --tls-private-key-file are given.',
    default: '/var/lib/platlet/pki',
  },
  'rotate-certificates': {...inFile, type: 'bool', help: 'Request a new client certificate before the current one expires.'},
  'rotate-server-certificates': {
    ...inFile,
    type: 'bool',
    help: 'Request a serving certificate, and a new one before it expires. Needs the gate RotatePlatletServerCertificate, and an approver of the requests.',
    gate: 'RotatePlatletServerCertificate',
  },
  'enable-server': {...inFile, type: 'bool', help: 'Run the server.', default: 'true'},
  'enable-debugging-handlers': {
    ...inFile,
    type: 'bool',
    help: 'Serve the endpoints that read logs and run commands on this node.',
    default: 'true',
  },
  'healthz-bind-address': {...inFile, type: 'ip', help: 'The address of the health server.', default: '127.0.0.1'},
  'healthz-port': {
    ...inFile,
    type: 'port',
    label: 'int32',
    help: 'The port of the health server. 0 serves none.',
    default: '10248',
  },
  'image-credential-provider-bin-dir': {
    type: 'path',
    help: 'The directory of the programs that provide credentials for images.',
    requires: ['image-credential-provider-config'],
  },
  'image-credential-provider-config': {
    type: 'path',
    help: 'The file that configures these programs, or a directory of such files (JSON, YAML or YML), merged in the order of their names.',
    requires: ['image-credential-provider-bin-dir'],
  },
});
