import type {Frozen} from '#src/api/key.js';
import type {Secret} from '#src/api/types.js';
import {hasExpired, secretText, tokenIdOf} from '#src/model/bootstrap-token.js';

/** A token that signs. */
export interface SigningToken {
  readonly id: string;
  readonly key: Buffer;
}

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
