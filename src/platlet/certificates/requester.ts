// Requests certificates for an agent: with a new key, and by the connection that the certificate in use allows.

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

/** Whom certificates are requested of. */
export interface CertificateSigner {
  readonly client: Client;
  readonly signerName: string;
}

export interface CertificateRequesterParts {
  readonly use: CertificateUse;
  /** Returns whom to ask, with the certificate that is valid now, if there is one. */
  signer(current: StoredPair | undefined): CertificateSigner;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A request that was sent. */
export interface PendingCertificate {
  /** Waits for the certificate as long as it is wanted. Rejects if it is denied, or not issued in time. */
  issued(isWanted: () => boolean): Promise<KeyPairPem>;
}

const lookMs = 1_000;
/** How long a request waits for its certificate. */
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

  /** Sends a request for a certificate of a new key. */
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
