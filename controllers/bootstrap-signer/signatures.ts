import {createHmac} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {Secret} from '#src/api/types.js';
import {hasExpired, secretText, tokenIdOf} from '#src/model/bootstrap-token.js';

/** A token that signs. */
export interface SigningToken {
  readonly id: string;
  readonly key: Buffer;
}

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

/** Returns the token of a secret; undefined if it must not sign. */
export const signingTokenOf = (secret: Frozen<Secret>, now: number): SigningToken | undefined => {
  const id = tokenIdOf(secret.metadata?.name);
  const key = Buffer.from(secret.data?.['token-secret'] ?? '', 'base64');
  const isUsable =
    id !== undefined &&
    secretText(secret, 'token-id') === id &&
    key.length > 0 &&
    !hasExpired(secret, now) &&
    secretText(secret, 'usage-bootstrap-signing') === 'true';
  return isUsable ? {id, key} : undefined;
};

/** Returns the detached JWS of a text (RFC 7515, appendix F): HS256, compact, without the payload. */
export const detachedSignature = (content: string, {id, key}: SigningToken): string => {
  const header = encoded(`{"alg":"HS256","kid":"${id}"}`);
  const signature = createHmac('sha256', key)
    .update(`${header}.${encoded(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
};
