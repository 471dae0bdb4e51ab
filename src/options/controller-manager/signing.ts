import {naming} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';

const {signers} = naming('plat');

const specificPairs = [
  'cluster-signing-plat-apiserver-client',
  'cluster-signing-platlet-client',
  'cluster-signing-platlet-serving',
  'cluster-signing-legacy-unknown',
] as const;

const specificFiles = specificPairs.flatMap(pair => [`${pair}-cert-file`, `${pair}-key-file`]);

const certOf = (signer: string) =>
  ({type: 'path', help: `PEM file with the CA certificate that signs for ${signer}. The generic pair must then not be set.`}) as const;
const keyOf = (signer: string) =>
  ({type: 'path', help: `PEM file with the private key that signs for ${signer}. The generic pair must then not be set.`}) as const;

/** Flags of the keys that sign certificates and service account tokens. */
export const certificateSigning = flagSection('Certificate signing', {
  'cluster-signing-cert-file': {
    type: 'path',
    help: 'PEM file with the CA certificate that signs for every signer. If set, no more specific --cluster-signing-* file may be.',
    excludes: specificFiles,
  },
  'cluster-signing-key-file': {
    type: 'path',
    help: 'PEM file with the RSA or ECDSA private key of --cluster-signing-cert-file. If set, no more specific --cluster-signing-* file may be.',
    excludes: specificFiles,
  },
  'cluster-signing-duration': {
    type: 'duration',
    help: 'The longest life given to a signed certificate. A request may ask for less by spec.expirationSeconds. 0 takes the default.',
    default: '8760h0m0s',
    range: {min: '0'},
  },
  'cluster-signing-plat-apiserver-client-cert-file': certOf(signers.apiserverClient),
  'cluster-signing-plat-apiserver-client-key-file': keyOf(signers.apiserverClient),
  'cluster-signing-platlet-client-cert-file': certOf(signers.apiserverClientAgent),
  'cluster-signing-platlet-client-key-file': keyOf(signers.apiserverClientAgent),
  'cluster-signing-platlet-serving-cert-file': certOf(signers.agentServing),
  'cluster-signing-platlet-serving-key-file': keyOf(signers.agentServing),
  'cluster-signing-legacy-unknown-cert-file': certOf(signers.legacyUnknown),
  'cluster-signing-legacy-unknown-key-file': keyOf(signers.legacyUnknown),
  'root-ca-file': {
    type: 'path',
    help: 'PEM bundle of CA certificates that is published to every namespace and put into service account token secrets.',
  },
  'service-account-private-key-file': {
    type: 'path',
    help: 'PEM file with the RSA or ECDSA key that signs service account tokens kept in secrets. Without it no such tokens are created.',
  },
  'use-service-account-credentials': {type: 'bool', help: 'Use a separate service account for each controller.'},
  'legacy-service-account-token-clean-up-period': {
    type: 'duration',
    help: 'How long a token kept in a secret must be unused before it may be deleted.',
    default: '8760h0m0s',
    range: {above: '0'},
  },
});

/** Returns an error if a signer's certificate is given without its key, or the reverse. */
export const validateSigningPairs = (_: unknown, given: Given): string | undefined => {
  for (const pair of specificPairs) {
    const [cert, key] = [`${pair}-cert-file`, `${pair}-key-file`];
    if (given.has(cert) && !given.has(key)) return `--${cert} requires --${key}: cannot specify cert without key`;
    if (given.has(key) && !given.has(cert)) return `--${key} requires --${cert}: cannot specify key without cert`;
  }
  return undefined;
};
