// The keys of pod certificates, with the proof that the node has them.

import {constants, sign, type KeyObject} from 'node:crypto';
import {toPem} from '#src/pki/encoding/pem.js';
import {generatePrivateKey, publicKeyDer, type KeySpec} from '#src/pki/keys/keys.js';

/** A new key for a pod. */
export interface PodKey {
  /** PKCS #8 in PEM. */
  readonly pem: string;
  /** The fields of a request, in base64. */
  readonly pkixPublicKey: string;
  readonly proofOfPossession: string;
}

const specs: Readonly<Record<string, KeySpec>> = {
  RSA3072: {kind: 'rsa', bits: 3072},
  RSA4096: {kind: 'rsa', bits: 4096},
  ECDSAP256: {kind: 'ecdsa', curve: 'P-256'},
  ECDSAP384: {kind: 'ecdsa', curve: 'P-384'},
  ECDSAP521: {kind: 'ecdsa', curve: 'P-521'},
  ED25519: {kind: 'ed25519'},
};

const pss = {padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_MAX_SIGN};

const signed = (key: KeyObject, bytes: Buffer): Buffer => {
  if (key.asymmetricKeyType === 'ed25519') return sign(null, bytes, key);
  return sign('sha256', bytes, key.asymmetricKeyType === 'rsa' ? {key, ...pss} : key);
};

/** Generates a key of a type, and signs the uid of its pod with it. */
export const newPodKey = async (type: string, uid: string): Promise<PodKey> => {
  const spec = Object.hasOwn(specs, type) ? specs[type] : undefined;
  if (!spec) throw new Error(`while generating keypair: unknown key type ${JSON.stringify(type)}`);
  const key = await generatePrivateKey(spec);
  return {
    pem: toPem('PRIVATE KEY', key.export({format: 'der', type: 'pkcs8'})),
    pkixPublicKey: publicKeyDer(key).toString('base64'),
    proofOfPossession: signed(key, Buffer.from(uid)).toString('base64'),
  };
};
