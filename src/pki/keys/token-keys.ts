import {createHash, createPrivateKey, createPublicKey, X509Certificate, type KeyObject} from 'node:crypto';
import {PkiError} from '#src/pki/encoding/error.js';
import {parsePrivateKey} from './keys.js';
import {knownTexts} from '#src/pki/encoding/known-texts.js';
import {pemBlocks, type PemBlock} from '#src/pki/encoding/pem.js';
import {tokenKey, type TokenKey} from './token.js';

const readers: Readonly<Record<string, (bytes: Buffer) => KeyObject>> = {
  'PUBLIC KEY': bytes => createPublicKey({key: bytes, format: 'der', type: 'spki'}),
  'RSA PUBLIC KEY': bytes => createPublicKey({key: bytes, format: 'der', type: 'pkcs1'}),
  CERTIFICATE: bytes => new X509Certificate(bytes).publicKey,
  'RSA PRIVATE KEY': bytes => createPublicKey(createPrivateKey({key: bytes, format: 'der', type: 'pkcs1'})),
  'EC PRIVATE KEY': bytes => createPublicKey(createPrivateKey({key: bytes, format: 'der', type: 'sec1'})),
  'PRIVATE KEY': bytes => createPublicKey(createPrivateKey({key: bytes, format: 'der', type: 'pkcs8'})),
};

const keyIn = ({label, bytes}: PemBlock): TokenKey | undefined => {
  try {
    const key = readers[label]?.(bytes);
    return key && tokenKey(key);
  } catch {
    return undefined; // The file may contain a key in another block.
  }
};

/**
 * Returns all keys in PEM that can verify tokens: public keys, and those of private keys and certificates. Throws if
 * there is none. Equal texts may return the same keys.
 */
export const parseVerifyingKeys = knownTexts((pem: Buffer | string): readonly TokenKey[] => {
  const found = [...pemBlocks(pem)].flatMap(block => keyIn(block) ?? []);
  if (found.length === 0) throw new PkiError('data does not contain any valid RSA or ECDSA public keys');
  return found;
});

/** The signing key of a file that was read last. A weak reference, so that no key outlives the servers that use it. */
let lastSigningKey: {readonly hash: string; readonly key: WeakRef<TokenKey>} | undefined;

/** Returns the private key in PEM that signs tokens. Equal texts may return the same key. */
export const parseSigningKey = (pem: Buffer | string): TokenKey => {
  const hash = createHash('sha256').update(pem).digest('base64');
  const known = lastSigningKey?.hash === hash ? lastSigningKey.key.deref() : undefined;
  if (known) return known;
  const key = tokenKey(parsePrivateKey(pem));
  lastSigningKey = {hash, key: new WeakRef(key)};
  return key;
};
