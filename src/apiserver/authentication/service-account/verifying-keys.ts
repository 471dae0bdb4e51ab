import type {TokenKey} from '#src/pki/keys/token.js';

/** A public key of the issuer of service account tokens. */
export interface VerifyingKey extends TokenKey {
  /** Whether the key only verifies: it is not in the key set that relying parties discover. */
  readonly isUndiscoverable?: boolean;
}

/** The keys that service account tokens are verified with. */
export interface VerifyingKeys {
  /** All current keys. */
  readonly all: readonly VerifyingKey[];
  /** How long (s) relying parties may cache the key set. */
  readonly maxAgeSeconds: number;
  /** Increases with each change of the keys: what was verified before is verified again. */
  readonly generation: number;
  /** The keys with this id, or all for the empty one. */
  of(keyId: string): readonly VerifyingKey[] | Promise<readonly VerifyingKey[]>;
}

/** Keys that never change, as those of files. */
export const fixedKeys = (keys: readonly VerifyingKey[]): VerifyingKeys => ({
  all: keys,
  maxAgeSeconds: 3600,
  generation: 0,
  of: keyId => (keyId ? keys.filter(({id}) => id === keyId) : keys),
});
