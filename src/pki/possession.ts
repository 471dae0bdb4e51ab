import {constants, createPublicKey, verify, type KeyObject} from 'node:crypto';
import {onlyElement, tags} from './der.js';
import {readPublicKey} from './keys.js';

/** Reads a SubjectPublicKeyInfo and nothing after it; undefined for what is none. Its algorithm may be one that nobody here verifies with. */
export const publicKeyOf = (info: Buffer): KeyObject | undefined => {
  try {
    onlyElement(info, tags.sequence);
    const key = readPublicKey(info) ?? createPublicKey({key: info, format: 'der', type: 'spki'});
    return ['rsa', 'ec', 'ed25519', 'x25519', 'dsa'].includes(key.asymmetricKeyType ?? '') ? key : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Whether bytes were signed with the private half of a key: by Ed25519 as it is, by ECDSA (ASN.1) and RSASSA-PSS (any length of salt) over
 * SHA-256, whatever the curve (the API reference, PodCertificateRequest).
 */
export const provesPossession = (key: KeyObject, bytes: Buffer, signature: Buffer): boolean => {
  try {
    if (key.asymmetricKeyType === 'ed25519') return verify(null, bytes, key, signature);
    const pss = {padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO};
    return verify('sha256', bytes, key.asymmetricKeyType === 'rsa' ? {key, ...pss} : key, signature);
  } catch {
    return false;
  }
};
