import {compactVerify, importJWK, type CryptoKey, type JWK} from 'jose';
import type {Clock} from '#src/base/clock.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {GetDocument} from './issuer-calls.js';

/** A fetch of the keys, for metrics. */
export type FetchListener = (outcome: {readonly keySet: string} | {readonly error: Error}) => void;

/** Keys are fetched at most once in this time, whatever tokens claim to be signed with. */
const leastIntervalMs = 1000;
const maxKeys = 100;

/** The header of a token that was not verified yet. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid: string;
}

/**
 * The keys of an issuer (RFC 7517), fetched with the first token. When none of the known keys verifies a token they are
 * fetched again, since issuers rotate keys, unless the issuer has said that they are still valid or they were fetched
 * just now.
 */
export class KeySet {
  readonly #url: string;
  readonly #get: GetDocument;
  readonly #clock: Clock;
  readonly #fetched: FetchListener;
  #keys: readonly JWK[] = [];
  readonly #imported = new Map<string, Promise<CryptoKey | Uint8Array>>();
  /** The monotonic time until which the keys are not fetched again. */
  #freshUntil = -Infinity;
  #fetching: Promise<void> | undefined;

  constructor(url: string, get: GetDocument, clock: Clock, fetched: FetchListener) {
    this.#url = url;
    this.#get = get;
    this.#clock = clock;
    this.#fetched = fetched;
  }

  /** Returns the payload of a token whose signature is valid. Rejects with go-oidc's message. */
  async verify(token: string, header: TokenHeader): Promise<Uint8Array> {
    const known = await this.#verified(token, header);
    if (known) return known;
    if (this.#fetching || this.#clock.monotonic() >= this.#freshUntil) {
      await this.#refresh();
      const fresh = await this.#verified(token, header);
      if (fresh) return fresh;
    }
    throw new Error('failed to verify signature: failed to verify id token signature');
  }

  async #verified(token: string, {alg, kid}: TokenHeader): Promise<Uint8Array | undefined> {
    for (const [index, key] of this.#keys.entries()) {
      if (kid && key.kid !== kid) continue;
      try {
        const {payload} = await compactVerify(token, await this.#import(index, key, alg), {algorithms: [alg]});
        return payload;
      } catch {
        // A key of another type, or another key of the same type.
      }
    }
    return undefined;
  }

  #import(index: number, key: JWK, alg: string): Promise<CryptoKey | Uint8Array> {
    const name = `${index} ${alg}`;
    let imported = this.#imported.get(name);
    if (!imported) this.#imported.set(name, (imported = importJWK(key, alg)));
    return imported;
  }

  /** Concurrent callers share one fetch. */
  #refresh(): Promise<void> {
    return (this.#fetching ??= this.#fetchKeys().finally(() => (this.#fetching = undefined)));
  }

  async #fetchKeys(): Promise<void> {
    this.#freshUntil = this.#clock.monotonic() + leastIntervalMs;
    try {
      const answer = await this.#get(this.#url);
      const text = answer.body.toString();
      if (answer.status !== 200) throw new Error(`get keys failed: ${answer.status} ${text.slice(0, 200)}`);
      this.#keys = keysIn(text);
      this.#imported.clear();
      this.#freshUntil = this.#clock.monotonic() + Math.max(leastIntervalMs, maxAgeMs(answer.header('cache-control')));
      this.#fetched({keySet: text});
    } catch (cause) {
      const error = new Error(`failed to verify signature: fetching keys ${(cause as Error).message}`, {cause});
      this.#fetched({error});
      throw error;
    }
  }
}

/** How long an answer may be used (RFC 9111 §5.2.2); 0 unless it says so. */
const maxAgeMs = (cacheControl = ''): number =>
  /(?:^|[\s,])no-(?:store|cache)/i.test(cacheControl) ? 0 : Number(/(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1] ?? 0) * 1000;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The public keys that sign. Secret keys are left out: no algorithm that uses them is allowed. */
const keysIn = (text: string): JWK[] => {
  const set = parsed(text);
  const keys = isPlainObject(set) ? set['keys'] : undefined;
  if (!Array.isArray(keys)) throw new Error('failed to decode keys: the answer is not a key set');
  return (keys.slice(0, maxKeys) as unknown[]).filter(
    (key): key is JWK => isPlainObject(key) && (key['kty'] === 'RSA' || key['kty'] === 'EC') && key['use'] !== 'enc',
  );
};
