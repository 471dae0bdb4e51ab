import {createPublicKey} from 'node:crypto';
import {messageOf} from '#src/base/message.js';
import {sleep} from '#src/base/clock.js';
import {tokenKey} from '#src/pki/keys/token.js';
import type {VerifyingKey, VerifyingKeys} from '#src/apiserver/authentication/service-account/verifying-keys.js';
import type {PublishedKey, PublishedKeys, SignerParts, SignerService} from './service.js';

const maxIdLength = 1024;
const timeoutMs = 60_000;
/** The delay after a failed fetch. */
const retryMs = 10_000;

const parsedKey = ({id, der, isUndiscoverable}: PublishedKey): VerifyingKey => {
  if (id === '' || Buffer.byteLength(id) > maxIdLength) throw new Error(`found invalid public key id ${JSON.stringify(id)}`);
  if (der.length === 0) throw new Error('found empty public key');
  try {
    return {...tokenKey(createPublicKey({key: der, format: 'der', type: 'spki'})), id, isUndiscoverable};
  } catch (cause) {
    throw new Error(`while parsing external public keys: ${messageOf(cause)}`, {cause});
  }
};

const wrapped = (words: string, cause: unknown): Error => new Error(`${words}: ${messageOf(cause)}`, {cause});

/**
 * The keys that the external signer publishes: fetched at start, then as often as it advises, and for each token with
 * an unknown key id.
 */
export class ExternalKeys implements VerifyingKeys {
  readonly #service: SignerService;
  readonly #parts: SignerParts;
  #keys: readonly VerifyingKey[] = [];
  /** The ids and keys as they were published, to notice whether they have changed. */
  #published = '';
  #generation = 0;
  #refreshAt = 0;
  #fetching: Promise<void> | undefined;

  constructor(service: SignerService, parts: SignerParts) {
    this.#service = service;
    this.#parts = parts;
  }

  get all(): readonly VerifyingKey[] {
    return this.#keys;
  }

  get generation(): number {
    return this.#generation;
  }

  get maxAgeSeconds(): number {
    return Math.max(0, Math.trunc((this.#refreshAt - this.#parts.clock.monotonic()) / 1000));
  }

  of(keyId: string): readonly VerifyingKey[] | Promise<readonly VerifyingKey[]> {
    const known = this.#known(keyId);
    return known.length > 0 ? known : this.#fetched(keyId);
  }

  /** Fetches the keys; concurrent callers share one fetch. Rejects with the reason, and keeps the keys that it has. */
  refresh(): Promise<void> {
    return (this.#fetching ??= this.#renew().finally(() => (this.#fetching = undefined)));
  }

  /** Fetches the keys when the signer advises it, until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const {clock, log} = this.#parts;
    let delayMs = this.#refreshAt - clock.monotonic();
    while (!signal.aborted) {
      try {
        await sleep(clock, Math.max(0, delayMs), signal);
      } catch {
        return;
      }
      try {
        await this.refresh();
        delayMs = this.#refreshAt - clock.monotonic();
      } catch (error) {
        if (!signal.aborted)
          log.error({err: error}, 'the keys of the external signer could not be fetched: the previous ones stay in force');
        delayMs = retryMs;
      }
    }
  }

  #known(keyId: string): readonly VerifyingKey[] {
    return keyId ? this.#keys.filter(({id}) => id === keyId) : this.#keys;
  }

  async #fetched(keyId: string): Promise<readonly VerifyingKey[]> {
    const {log} = this.#parts;
    try {
      await this.refresh();
    } catch (error) {
      log.error({err: error}, 'the keys of the external signer could not be fetched');
      return [];
    }
    const known = this.#known(keyId);
    if (known.length === 0) log.v(2).info({keyId}, 'the external signer has no key with this id');
    return known;
  }

  async #renew(): Promise<void> {
    const {metrics} = this.#parts;
    try {
      const published = await this.#service.fetchKeys(timeoutMs).catch((cause: unknown) => {
        throw wrapped('while getting externally supported jwt signing keys', cause);
      });
      this.#use(published);
    } catch (cause) {
      metrics.fetched(cause);
      throw wrapped('while fetching token verification keys', cause);
    }
    metrics.fetched();
  }

  #use({keys, dataAtSeconds, refreshSeconds}: PublishedKeys): void {
    const {clock, metrics} = this.#parts;
    if (refreshSeconds <= 0) throw new Error(`found invalid refresh hint (${refreshSeconds}s)`);
    if (keys.length === 0) throw new Error('found no keys');
    if (dataAtSeconds === undefined) throw new Error('invalid data timestamp: proto: invalid nil Timestamp');
    const parsed = keys.map(parsedKey);
    const text = JSON.stringify(keys.map(({id, der, isUndiscoverable}) => [id, der.toString('base64'), isUndiscoverable]));
    if (text !== this.#published) this.#generation += 1;
    this.#published = text;
    this.#keys = parsed;
    this.#refreshAt = clock.monotonic() + refreshSeconds * 1000;
    metrics.dataAt(dataAtSeconds);
  }
}
