// When the certificate of an agent is rotated: at once if there is none, before it expires, and when its template
// changes.

import {isForbidden, isNotFound, isUnauthorized} from '#src/api/status.js';
import {withClockHeld, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import type {KeyPairPem} from '#src/pki/key-pair.js';
import {formatGoTime} from '#src/pki/encoding/times.js';
import type {AgentCertificate} from './certificate.js';
import type {StoredPair} from './pair-store.js';
import type {CertificateRequester, PendingCertificate} from './requester.js';
import {templateMismatch, type CertificateTemplate} from './template.js';

/** Hooks for the metrics of rotations. */
export interface Renewals {
  /** Called after each rotation with the age of the replaced certificate. */
  renewed?(ageMs: number): void;
  /** Called after each failed attempt. */
  failed?(): void;
}

export interface CertificateRotationParts {
  readonly certificate: AgentCertificate;
  readonly requester: CertificateRequester;
  /** Returns the wanted content of the certificate; undefined while unknown. Polled each second. */
  template(): CertificateTemplate | undefined;
  readonly renewals: Renewals;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The delays of the first attempts, with 10 % jitter; later ones are 32 s. */
const firstDelays = [2_000, 4_000, 8_000, 16_000];
const laterMs = 32_000;
const lookMs = 1_000;

/** Returns when a certificate is to be rotated: at 70 % to 90 % of its lifetime. */
export const renewalTime = ({notBefore, notAfter}: {readonly notBefore: number; readonly notAfter: number}, random: Random): number => {
  const life = notAfter - notBefore;
  return notBefore + jittered(random, life, 0.2) - life * 0.3;
};

const sameTemplate = (one: CertificateTemplate | undefined, other: CertificateTemplate | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Rotates the certificate of an agent. */
export class CertificateRotation {
  readonly #parts: CertificateRotationParts;
  readonly #listeners = new Set<(pair: StoredPair) => void>();
  /** Whether the certificate is to be rotated at once. */
  #isForced: boolean;
  /** The template of the last request. */
  #requested: CertificateTemplate | undefined;
  #isServerHealthy = false;

  constructor(parts: CertificateRotationParts) {
    this.#parts = parts;
    this.#isForced = parts.certificate.isProvisional;
  }

  /** Whether the API server responded to the last request. */
  get isServerHealthy(): boolean {
    return this.#isServerHealthy;
  }

  /** Calls `listener` with each new certificate. */
  onChange(listener: (pair: StoredPair) => void): void {
    this.#listeners.add(listener);
  }

  /** Rotates the certificate in the background until the signal aborts. */
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

  /** Waits until the certificate is to be rotated: it is due, or its template has changed. */
  async #untilDue(): Promise<void> {
    const {certificate, requester, clock, random, log, signal, template} = this.#parts;
    const pair = certificate.last;
    if (this.#isForced || !pair || this.#lack() !== undefined) {
      this.#isForced = false;
      return;
    }
    const {use} = requester;
    const {leaf} = pair;
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
    const {certificate, template} = this.#parts;
    const wanted = template();
    return certificate.last && wanted && templateMismatch(certificate.last.leaf, wanted);
  }

  async #renewUntilDone(): Promise<void> {
    const {requester, clock, random, log, signal} = this.#parts;
    const {use} = requester;
    for (let attempt = 0; !(await this.#renew()); attempt++) {
      if (attempt === firstDelays.length) log.error({use}, 'reached backoff limit, still unable to rotate certs');
      const delay = firstDelays[attempt];
      await sleep(clock, delay === undefined ? laterMs : jittered(random, delay, 0.1), signal);
    }
  }

  /** Creates one request and waits for its certificate. Returns whether it was issued. */
  async #renew(): Promise<boolean> {
    const {requester, renewals, clock, log, signal, template} = this.#parts;
    const {use} = requester;
    const wanted = template();
    if (!wanted) return false;
    log.v(2).info({use}, 'rotating certificates');
    let failure = 'failed while requesting a signed certificate from the control plane';
    try {
      const pending = await withClockHeld(clock, () => this.#send(wanted));
      failure = 'certificate request was not signed';
      const pair = await pending.issued(() => sameTemplate(wanted, template()));
      failure = 'unable to store the new cert/key pair';
      await withClockHeld(clock, () => this.#use(pair));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      renewals.failed?.();
      log.error({use, err: error}, failure);
      return false;
    }
  }

  async #send(template: CertificateTemplate): Promise<PendingCertificate> {
    const {certificate, requester} = this.#parts;
    try {
      const pending = await requester.send(template, certificate.current);
      this.#requested = template;
      return pending;
    } catch (error) {
      // A refusal is a response, too.
      this.#isServerHealthy = isUnauthorized(error) || isNotFound(error) || isForbidden(error);
      throw error;
    }
  }

  async #use(pair: KeyPairPem): Promise<void> {
    const {certificate, requester, renewals, clock, log} = this.#parts;
    const before = certificate.last;
    const stored = await certificate.replace(pair);
    this.#isServerHealthy = true;
    if (before) renewals.renewed?.(clock.now() - before.leaf.notBefore);
    log.info({use: requester.use, expires: formatGoTime(stored.leaf.notAfter)}, 'rotated certificate');
    for (const listener of this.#listeners) listener(stored);
  }
}
