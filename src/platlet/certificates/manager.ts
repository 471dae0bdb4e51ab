// Keeps a certificate of an agent: requests one if there is none, and another before it expires or when it is to have another content.

import type {KeyObject} from 'node:crypto';
import {isForbidden, isNotFound, isUnauthorized} from '#src/api/status.js';
import {every, held, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {jittered, type Random} from '#src/base/random.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import type {KeyPairPem} from '#src/pki/key-pair.js';
import {formatGoTime} from '#src/pki/encoding/times.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import type {PairStore, StoredPair} from './pair-store.js';
import {issuedCertificate, sendRequest, type CertificateUse, type SentRequest} from './request.js';
import {lackOf, type CertificateTemplate} from './template.js';

export interface CertificateManagerParts {
  readonly store: PairStore;
  readonly use: CertificateUse;
  /** Returns what the certificate is to have; undefined as long as that is not known. Looked at each second. */
  template(): CertificateTemplate | undefined;
  /** Returns the client to send a request with, and its signer's name, for the certificate that is valid now, if there is one. */
  requester(current: StoredPair | undefined): Promise<{readonly client: Client; readonly signerName: string}>;
  /** A certificate to use until there is another, which is requested at once. */
  readonly first?: KeyPairPem | undefined;
  /** Called after each renewal with the age of the certificate before, and after each attempt that fails. */
  renewed?(ageMs: number): void;
  failed?(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

/** The delays between the first attempts, which vary by a tenth; then there is one each 32 s. */
const firstDelays = [2_000, 4_000, 8_000, 16_000];
const laterMs = 32_000;
const lookMs = 1_000;
/** How long one attempt waits for its certificate. */
const waitMs = 15 * 60_000;

/** Returns when a certificate is due for renewal: after 70 % to 90 % of its life. */
export const renewalTime = ({notBefore, notAfter}: {readonly notBefore: number; readonly notAfter: number}, random: Random): number => {
  const life = notAfter - notBefore;
  return notBefore + jittered(random, life, 0.2) - life * 0.3;
};

const sameTemplate = (one: CertificateTemplate | undefined, other: CertificateTemplate | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

export class CertificateManager {
  readonly #parts: CertificateManagerParts;
  readonly #listeners = new Set<(pair: StoredPair) => void>();
  #pair: StoredPair | undefined;
  /** Whether there was only a certificate that is to be replaced at once. */
  #isForced: boolean;
  /** What the last request that was sent was for. */
  #requested: CertificateTemplate | undefined;
  #isServerHealthy = false;

  private constructor(parts: CertificateManagerParts, pair: StoredPair | undefined, isForced: boolean) {
    this.#parts = parts;
    this.#pair = pair;
    this.#isForced = isForced;
  }

  /** Reads the certificate in use. Rejects if its file cannot be used. */
  static async open(parts: CertificateManagerParts): Promise<CertificateManager> {
    const {store, clock, first} = parts;
    const kept = await store.current();
    if (kept && clock.now() < kept.leaf.notAfter) return new CertificateManager(parts, kept, false);
    return new CertificateManager(parts, first && (await store.update(first)), true);
  }

  /** The certificate in use; undefined if there is none, or it has expired. */
  get current(): StoredPair | undefined {
    return this.#pair && this.#parts.clock.now() <= this.#pair.leaf.notAfter ? this.#pair : undefined;
  }

  /** When the certificate in use expires; undefined if there is none. */
  get expiresAt(): number | undefined {
    return this.#pair?.leaf.notAfter;
  }

  /** Whether the API server answered the last request. */
  get isServerHealthy(): boolean {
    return this.#isServerHealthy;
  }

  /** Calls `listener` with each new certificate. */
  onChange(listener: (pair: StoredPair) => void): void {
    this.#listeners.add(listener);
  }

  /** Keeps the certificate up to date in the background, until the signal aborts. */
  start(): void {
    const {signal, clock} = this.#parts;
    void this.#run().catch((error: unknown) => {
      if (!signal.aborted) clock.unhandled(error);
    });
  }

  async #run(): Promise<void> {
    const {clock, signal, template} = this.#parts;
    for (;;) {
      await this.#untilDue();
      if (template()) await this.#renewUntilDone();
      await sleep(clock, lookMs, signal);
    }
  }

  /** Waits until the certificate is to be replaced: it is due, or it is to have what it does not have. */
  async #untilDue(): Promise<void> {
    const {clock, random, log, signal, use, template} = this.#parts;
    if (this.#isForced || !this.#pair || this.#lack() !== undefined) {
      this.#isForced = false;
      return;
    }
    const {leaf} = this.#pair;
    const due = renewalTime(leaf, random);
    log
      .v(2)
      .info(
        {use, expires: formatGoTime(leaf.notAfter), due: formatGoTime(due)},
        'certificate expiration and rotation deadline are determined',
      );
    while (clock.now() < due) {
      await sleep(clock, Math.min(lookMs, due - clock.now()), signal);
      if (this.#lack() === undefined || sameTemplate(this.#requested, template())) continue;
      log.v(2).info({use}, 'the certificate template changed, rotating');
      return;
    }
  }

  #lack(): string | undefined {
    const wanted = this.#parts.template();
    return this.#pair && wanted && lackOf(this.#pair.leaf, wanted);
  }

  async #renewUntilDone(): Promise<void> {
    const {clock, random, log, signal, use} = this.#parts;
    for (let attempt = 0; !(await this.#renew()); attempt++) {
      if (attempt === firstDelays.length) log.error({use}, 'reached backoff limit, still unable to rotate certs');
      const delay = firstDelays[attempt];
      await sleep(clock, delay === undefined ? laterMs : jittered(random, delay, 0.1), signal);
    }
  }

  /** Requests a certificate once and waits for it. Returns whether there is a new one. */
  async #renew(): Promise<boolean> {
    const {clock, log, signal, use, template} = this.#parts;
    const wanted = template();
    if (!wanted) return false;
    log.v(2).info({use}, 'rotating certificates');
    let failure = 'failed while requesting a signed certificate from the control plane';
    try {
      const {client, sent, key} = await held(clock, () => this.#send(wanted));
      failure = 'certificate request was not signed';
      const certificate = await this.#issued(client, sent, wanted);
      failure = 'unable to store the new cert/key pair';
      await held(clock, () => this.#use({certificate, key: privateKeyPem(key)}));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#parts.failed?.();
      log.error({use, err: error}, failure);
      return false;
    }
  }

  async #send(template: CertificateTemplate): Promise<{readonly client: Client; readonly sent: SentRequest; readonly key: KeyObject}> {
    const {clock, signal, use, requester} = this.#parts;
    const key = await generatePrivateKey();
    try {
      const {client, signerName} = await requester(this.current);
      const sent = await sendRequest(client, {key, template, signerName, use}, clock.now(), signal);
      this.#requested = template;
      return {client, sent, key};
    } catch (error) {
      // A refusal is an answer, too.
      this.#isServerHealthy = isUnauthorized(error) || isNotFound(error) || isForbidden(error);
      throw error;
    }
  }

  /** Waits for a certificate as long as it is what is wanted. */
  async #issued(client: Client, sent: SentRequest, requested: CertificateTemplate): Promise<string> {
    const {clock, signal, template} = this.#parts;
    const late = new AbortController();
    using limits = firstOf(signal, late.signal);
    using _ = clock.schedule(waitMs, () => late.abort());
    every(clock, lookMs, limits.signal, () => {
      if (!sameTemplate(requested, template())) late.abort();
    });
    try {
      return await issuedCertificate({...this.#parts, client, signal: limits.signal}, sent);
    } finally {
      late.abort();
    }
  }

  async #use(pair: KeyPairPem): Promise<void> {
    const {clock, store, log, use, renewed} = this.#parts;
    const before = this.#pair;
    const stored = await store.update(pair);
    this.#pair = stored;
    this.#isServerHealthy = true;
    if (before) renewed?.(clock.now() - before.leaf.notBefore);
    log.info({use, expires: formatGoTime(stored.leaf.notAfter)}, 'a new certificate is in use');
    for (const listener of this.#listeners) listener(stored);
  }
}
