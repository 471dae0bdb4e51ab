// Requests certificates of an agent: with a new key, over the connection that the current certificate authenticates.

import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import type {KeyPairPem} from '#src/pki/key-pair.js';
import {generatePrivateKey, privateKeyPem} from '#src/pki/keys/keys.js';
import type {StoredPair} from './pair-store.js';
import {issuedCertificate, sendRequest, type CertificateUse} from './request.js';
import type {CertificateTemplate} from './template.js';

/** The signer that certificates are requested from. */
export interface CertificateSigner {
  readonly client: Client;
  readonly signerName: string;
}

export interface CertificateRequesterParts {
  readonly use: CertificateUse;
  /** Returns the client for requests, authenticated by the currently valid certificate, if any. */
  signer(current: StoredPair | undefined): CertificateSigner;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A pending request. */
export interface PendingCertificate {
  /** Waits for the certificate until the signal aborts. Rejects if it is denied or not issued in time. */
  issued(isWanted: () => boolean): Promise<KeyPairPem>;
}

const lookMs = 1_000;
/** How long to wait for the certificate of a request. */
const waitMs = 15 * 60_000;

/** Requests certificates for one use. */
export class CertificateRequester {
  readonly #parts: CertificateRequesterParts;

  constructor(parts: CertificateRequesterParts) {
    this.#parts = parts;
  }

  get use(): CertificateUse {
    return this.#parts.use;
  }

  /** Creates a request with a new key. */
  async send(template: CertificateTemplate, current: StoredPair | undefined): Promise<PendingCertificate> {
    const {use, signer, clock, random, log, signal} = this.#parts;
    const key = await generatePrivateKey();
    const {client, signerName} = signer(current);
    const sent = await sendRequest(client, {key, template, signerName, use}, clock.now(), signal);
    return {
      async issued(isWanted) {
        const late = new AbortController();
        using limits = firstOf(signal, late.signal);
        using _ = clock.schedule(waitMs, () => late.abort());
        runEvery(clock, lookMs, limits.signal, () => {
          if (!isWanted()) late.abort();
        });
        try {
          const certificate = await issuedCertificate({client, clock, random, log, signal: limits.signal}, sent);
          return {certificate, key: privateKeyPem(key)};
        } finally {
          late.abort();
        }
      },
    };
  }
}
