import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {serverConnection} from '#src/options/shared/kubeconfig.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

/** Flags of the commands that connect to an API server. */
export const commandConnection = {
  ...serverConnection,
  platconfig: {...serverConnection.platconfig, shownDefault: 'the file named by KUBECONFIG, or that of a plane in ./.plat or ./.plat-plat'},
} as const;

/** Flags of the commands that choose among the clusters of a file, too. */
export const clusterConnection = {
  ...commandConnection,
  context: {type: 'string', help: 'The context of the kubeconfig file.', shownDefault: 'the current context'},
} as const;

const connection = flagSection('Connection', {
  ...commandConnection,
  ...clientNaming,
  ...commandLogging,
  ...help,
});

/** The flags of `plat certificate`. */
export const certificateFlags = flagTable({
  program: 'plat certificate',
  summary:
    'Approves, denies and explains certificate signing requests, and requests certificates: request makes a key, waits for its certificate and prints a kubeconfig with both.',
  positional: 'approve|deny|explain NAME... | request NAME',
  sections: [
    connection,
    flagSection('Request', {
      user: {type: 'string', help: 'With request: the user that the certificate authenticates.'},
      groups: {type: 'strings', help: "With request: the user's groups."},
      signer: {type: 'string', help: 'With request: the signer.', shownDefault: 'the signer of client certificates for the API server'},
      duration: {
        type: 'duration',
        help: 'With request: how long the certificate should be valid. 0 for the default of the signer.',
        default: '0s',
      },
      approve: {type: 'bool', help: 'With request: approve it too, which takes the permission to do so.', default: 'false'},
      timeout: {type: 'duration', help: 'With request: how long to wait for the certificate.', default: '5m0s'},
    }),
    flagSection('Verdict', {force: {type: 'bool', help: 'Send the decision even if the request already has it.', default: 'false'}}),
  ],
});

export type CertificateOptions = OptionsOf<typeof certificateFlags>;

/** The flags of `plat token`. */
export const tokenFlags = flagTable({
  program: 'plat token',
  summary: 'Manages the bootstrap tokens with which nodes join, and verifies a cluster with one.',
  positional: 'create [TOKEN] | list | delete TOKEN|ID... | generate | discover SERVER',
  sections: [
    connection,
    flagSection('Creation', {
      ttl: {type: 'duration', help: 'How long a new token is valid. 0 for a token that never expires.', default: '24h0m0s'},
      usages: {type: 'strings', help: 'What a new token may be used for: signing, authentication.', default: 'signing,authentication'},
      groups: {
        type: 'strings',
        help: 'The groups of those who authenticate with a new token, besides system:bootstrappers. Each begins with system:bootstrappers:.',
        shownDefault: 'the group whose members may join as nodes',
      },
      description: {type: 'string', help: 'What a new token is for.'},
      'print-join-command': {
        type: 'bool',
        help: 'Print the command that a new node runs, instead of the token alone.',
        default: 'false',
      },
    }),
    flagSection('Listing', {
      output: {type: 'string', help: 'The format of the list.', default: 'text', oneOf: ['text', 'json', 'yaml'], shorthand: 'o'},
    }),
    flagSection('Discovery', {
      token: {type: 'string', help: 'The token that verifies the signature of the cluster-info config map.'},
      'discovery-token-ca-cert-hash': {
        type: 'strings',
        help: 'Hashes of the public keys (SubjectPublicKeyInfo) of CAs, one of which must be the CA of the cluster, as sha256:HEX.',
      },
      'discovery-token-unsafe-skip-ca-verification': {
        type: 'bool',
        help: 'Trust whatever CA the token has signed. Whoever knows the token can then pose as the cluster.',
        default: 'false',
      },
      timeout: {
        type: 'duration',
        help: 'How long discovery is retried while the server is not reachable, or has no signature of the token.',
        default: '5m0s',
      },
    }),
  ],
});

/** The flags of `plat version`. */
export const versionFlags = flagTable({
  program: 'plat version',
  summary: 'Prints the version of this program.',
  sections: [
    flagSection('Output', {
      output: {
        type: 'string',
        help: 'The format, with all that is known of the build: json or yaml. Empty for one line.',
        oneOf: ['', 'json', 'yaml'],
        shorthand: 'o',
      },
      ...help,
    }),
  ],
});
