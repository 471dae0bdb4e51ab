import type {KeyObject} from 'node:crypto';
import {parseCertificate, type Certificate} from './certificate.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {parsePrivateKey, sameKey} from '#src/pki/keys/keys.js';
import {knownTexts} from '#src/pki/encoding/known-texts.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';

/** A certificate chain and its private key in PEM. */
export interface KeyPairPem {
  readonly certificate: string;
  readonly key: string;
}

/** A private key and its certificate chain, leaf first. */
export interface KeyPair {
  readonly chain: readonly [Certificate, ...Certificate[]];
  readonly key: KeyObject;
}

const noPemBlockError = (what: string, where: string, labels: readonly string[]): PkiError =>
  new PkiError(
    labels.length === 0
      ? `tls: failed to find any PEM data in ${where} input`
      : `tls: failed to find ${what} in ${where} input after skipping PEM blocks of the following types: [${labels.join(' ')}]`,
  );

/** Parses a chain and its key. Throws if the key does not match the first certificate. */
export const parseKeyPair = (certificate: Buffer | string, key: Buffer | string): KeyPair => {
  const blocks = [...pemBlocks(certificate)];
  const [leaf, ...rest] = blocks.filter(({label}) => label === 'CERTIFICATE').map(({bytes}) => bytes);
  if (!leaf)
    throw noPemBlockError(
      '"CERTIFICATE" PEM block',
      'certificate',
      blocks.map(({label}) => label),
    );
  const keyLabels = [...pemBlocks(key)].map(({label}) => label);
  if (!keyLabels.some(label => label.endsWith('PRIVATE KEY')))
    throw noPemBlockError('PEM block with type ending in "PRIVATE KEY"', 'key', keyLabels);

  const chain = [parseCertificate(leaf), ...rest.map(parseCertificate)] as const;
  const privateKey = parsePrivateKey(key);
  if (!chain[0].publicKey) throw new PkiError('tls: unknown public key algorithm');
  if (!sameKey(chain[0].publicKey, privateKey)) throw new PkiError('tls: private key does not match public key');
  return {chain: [...chain], key: privateKey};
};

/**
 * Returns the chain of a pair, leaf first. Throws as `parseKeyPair` does. Equal texts may return the same chain; the
 * key is not kept.
 */
export const checkKeyPair = knownTexts(
  (certificate: Buffer | string, key: Buffer | string): KeyPair['chain'] => parseKeyPair(certificate, key).chain,
);
