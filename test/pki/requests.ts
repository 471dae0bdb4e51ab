import {sign, type KeyObject} from 'node:crypto';
import {tags} from '#src/pki/encoding/der.js';
import {bits, integer, nothing, oid, sequence, setOf, wrapped} from '#src/pki/encoding/der-builder.js';
import {publicKeyDer} from '#src/pki/keys/keys.js';
import {buildName} from '#src/pki/names.js';
import {toPem} from '#src/pki/encoding/pem.js';

/** Parts of a request that the honest builder would never put together. */
export interface CraftedRequest {
  readonly subject?: Buffer;
  readonly publicKeyInfo?: Buffer;
  /** The extension request's list, or several of them. */
  readonly extensions?: readonly Buffer[];
  readonly algorithm?: Buffer;
  readonly hash?: string | null;
  readonly signature?: Buffer;
}

export const ecdsaSha256 = (): Buffer => sequence(oid('1.2.840.10045.4.3.2'));
export const rsaWith = (number: number): Buffer => sequence(oid(`1.2.840.113549.1.1.${number}`), nothing());

/** A request in DER made of the given parts, signed with `key`. */
export const craftedRequestDer = (key: KeyObject, crafted: CraftedRequest = {}): Buffer => {
  const {
    subject = buildName({commonName: 'crafted'}),
    publicKeyInfo = publicKeyDer(key),
    extensions,
    algorithm = ecdsaSha256(),
    hash = 'sha256',
  } = crafted;
  const attributes = extensions ? [sequence(oid('1.2.840.113549.1.9.14'), setOf([sequence(...extensions)]))] : [];
  const info = sequence(integer(0n), subject, publicKeyInfo, wrapped(tags.contextConstructed(0), ...attributes));
  return sequence(info, algorithm, bits(crafted.signature ?? sign(hash, info, key)));
};

export const craftedRequest = (key: KeyObject, crafted: CraftedRequest = {}): string =>
  toPem('CERTIFICATE REQUEST', craftedRequestDer(key, crafted));
