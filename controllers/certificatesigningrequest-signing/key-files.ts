// Which flags name the certificate and key of each signer, and which files follow from them: a signer's own pair, else
// the common one. Files are read elsewhere.

import type {Naming} from '#src/api/naming.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import type {ConfigurationFields} from '#src/runtime/controller.js';

const specific = {
  agentServing: ['clusterSigningPlatletServingCertFile', 'clusterSigningPlatletServingKeyFile', 'cluster-signing-platlet-serving'],
  apiserverClientAgent: ['clusterSigningPlatletClientCertFile', 'clusterSigningPlatletClientKeyFile', 'cluster-signing-platlet-client'],
  apiserverClient: [
    'clusterSigningPlatApiserverClientCertFile',
    'clusterSigningPlatApiserverClientKeyFile',
    'cluster-signing-plat-apiserver-client',
  ],
  legacyUnknown: ['clusterSigningLegacyUnknownCertFile', 'clusterSigningLegacyUnknownKeyFile', 'cluster-signing-legacy-unknown'],
} as const satisfies Partial<Record<keyof Naming['signers'], readonly [string, string, string]>>;

/** A signer that this controller implements. */
export type SignerToken = keyof typeof specific;

export const signerTokens = Object.keys(specific) as readonly SignerToken[];

type FileOption = (typeof specific)[SignerToken][0 | 1] | 'clusterSigningCertFile' | 'clusterSigningKeyFile';
export type SigningOptions = Pick<ControllerManagerOptions, FileOption | 'clusterSigningDuration'>;

const filesOf = (flag: string): readonly [string, string] => [`${flag}-cert-file`, `${flag}-key-file`];

const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const pairOf = (signer: SignerToken): ConfigurationFields => {
  const [CertFile, KeyFile] = filesOf(specific[signer][2]);
  return {CertFile, KeyFile};
};

/** The controller's section of the manager's configuration. Its fields have the names of the cluster's programs. */
export const signingConfiguration = ({agent, prefix}: Naming): ConfigurationFields => ({
  CSRSigningController: {
    ClusterSigningCertFile: 'cluster-signing-cert-file',
    ClusterSigningKeyFile: 'cluster-signing-key-file',
    [`${capitalised(agent)}ServingSignerConfiguration`]: pairOf('agentServing'),
    [`${capitalised(agent)}ClientSignerConfiguration`]: pairOf('apiserverClientAgent'),
    [`${capitalised(prefix)}APIServerClientSignerConfiguration`]: pairOf('apiserverClient'),
    LegacyUnknownSignerConfiguration: pairOf('legacyUnknown'),
    ClusterSigningDuration: 'cluster-signing-duration',
  },
});

/** A signer and the files of its key pair. */
export interface SignerFiles {
  readonly signer: SignerToken;
  readonly certificate: string;
  readonly key: string;
  /** The flags of the files, for messages. */
  readonly flags: readonly [certificate: string, key: string];
}

/**
 * Returns which signers are enabled, and their files: all of them with the generic pair, or those with a pair of their
 * own. A generic certificate without a key counts as none. Throws when both kinds are given, or half of a pair.
 */
export const signingPlan = (options: Readonly<SigningOptions>): readonly SignerFiles[] => {
  const {clusterSigningCertFile, clusterSigningKeyFile} = options;
  const own = signerTokens.flatMap((signer): SignerFiles[] => {
    const [certificateOption, keyOption, flag] = specific[signer];
    const [certificate, key] = [options[certificateOption], options[keyOption]];
    return certificate || key ? [{signer, certificate, key, flags: filesOf(flag)}] : [];
  });
  if (own.length === 0) {
    if (!clusterSigningCertFile || !clusterSigningKeyFile) return [];
    return signerTokens.map(signer => ({
      signer,
      certificate: clusterSigningCertFile,
      key: clusterSigningKeyFile,
      flags: filesOf('cluster-signing'),
    }));
  }
  if (clusterSigningCertFile || clusterSigningKeyFile) {
    throw new Error('cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time');
  }
  for (const {certificate, key, flags} of own) {
    if (!key) throw new Error(`--${flags[0]} requires --${flags[1]}: cannot specify cert without key`);
    if (!certificate) throw new Error(`--${flags[1]} requires --${flags[0]}: cannot specify key without cert`);
  }
  return own;
};

const defaultMaximumMs = 8760 * 3_600_000;

/** Returns the longest duration of a certificate. */
export const maximumTtlOf = ({clusterSigningDuration}: Readonly<Pick<SigningOptions, 'clusterSigningDuration'>>): number =>
  clusterSigningDuration || defaultMaximumMs;
