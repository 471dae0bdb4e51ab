import {constants, createPublicKey, verify, type KeyObject} from 'node:crypto';
import {onlyElement, tags} from '#src/pki/encoding/der.js';
import {checkRsaKey, readPublicKey} from './keys.js';

/**
 * Parses a SubjectPublicKeyInfo without trailing data; undefined if it is invalid. Also accepts algorithms that cannot
 * be used for verification.
 */
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
 * Whether the signature proves possession of the private key: Ed25519, or ECDSA (ASN.1) and RSASSA-PSS (any salt
 * length) over SHA-256, for all curves (API reference, PodCertificateRequest).
 */
export const provesPossession = (key: KeyObject, bytes: Buffer, signature: Buffer): boolean => {
  try {
    if (key.asymmetricKeyType === 'ed25519') return verify(null, bytes, key, signature);
    if (key.asymmetricKeyType === 'rsa') checkRsaKey(key);
    const pss = {padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO};
    return verify('sha256', bytes, key.asymmetricKeyType === 'rsa' ? {key, ...pss} : key, signature);
  } catch {
    return false;
  }
};
