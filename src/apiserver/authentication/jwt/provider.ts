import type {Clock} from '#src/base/clock.js';
import {sleep} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {textsClaim, timeClaim, type Claims, type UnverifiedToken} from './claims.js';
import type {GetDocument} from './issuer-calls.js';
import {KeySet, type FetchListener} from './key-set.js';

export interface ProviderOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly get: GetDocument;
  readonly issuer: string;
  /** Where the discovery document is, if not at the issuer's well-known address. */
  readonly discoveryURL?: string | undefined;
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly fetched: FetchListener;
  /** Ends the attempts to reach the provider. */
  readonly signal: AbortSignal;
}

const retryMs = 10_000;
/** The tolerated clock difference of a token that is not valid yet. */
const leewayMs = 60_000;

const quoted = (texts: readonly string[]): string => `[${texts.map(text => JSON.stringify(text)).join(' ')}]`;

/**
 * An OpenID Connect provider: its discovery document, fetched until it succeeds (OpenID Connect Discovery 1.0 §4), and
 * its keys. Tokens are refused until then, since an issuer may run on the cluster itself.
 */
export class Provider {
  readonly #options: ProviderOptions;
  #markFound!: () => void;
  readonly #found = new Promise<void>(resolve => (this.#markFound = resolve));
  #markAttempted!: () => void;
  readonly #attempted = new Promise<void>(resolve => (this.#markAttempted = resolve));
  #keys: KeySet | undefined;
  #problem: string;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#problem = `oidc: authenticator for issuer ${JSON.stringify(options.issuer)} is not initialized`;
  }

  /** Reaches the provider in the background, again and again until it answers. */
  start(): void {
    this.#discover().catch((error: unknown) => this.#options.clock.unhandled(error));
  }

  /** Why tokens cannot be verified yet; undefined once they can. */
  get problem(): string | undefined {
    return this.#keys ? undefined : this.#problem;
  }

  /** Resolves once tokens can be verified. */
  reached(): Promise<void> {
    return this.#found;
  }

  /** Resolves once the provider was reached, or could not be for the first time. */
  attempted(): Promise<void> {
    return this.#attempted;
  }

  /** Returns the claims of a valid token: its signature, issuer, audience and times. Rejects with go-oidc's message. */
  async verify(token: UnverifiedToken): Promise<Claims> {
    const {issuer, audiences, algorithms, clock} = this.#options;
    const {claims} = token;
    if (!this.#keys) throw new Error('oidc: authenticator not initialized');
    if (token.issuer !== issuer)
      throw new Error(
        `oidc: id token issued by a different provider, expected ${JSON.stringify(issuer)} got ${JSON.stringify(token.issuer)}`,
      );
    const named = textsClaim(claims, 'aud') ?? [];
    if (!named.some(audience => audiences.includes(audience)))
      throw new Error(`oidc: expected audience in ${quoted(audiences)} got ${quoted(named)}`);
    checkTimes(claims, clock.now());
    if (!token.alg) throw new Error('oidc: id token not signed');
    if (!algorithms.includes(token.alg))
      throw new Error(`oidc: id token signed with unsupported algorithm, expected ${quoted(algorithms)} got ${JSON.stringify(token.alg)}`);
    await this.#keys.verify(token.text, token);
    return claims;
  }

  async #discover(): Promise<void> {
    const {clock, log, issuer, signal} = this.#options;
    while (!signal.aborted) {
      try {
        this.#keys = await this.#discovered();
        this.#markAttempted();
        return this.#markFound();
      } catch (error) {
        this.#markAttempted();
        if (signal.aborted) return;
        log.error({issuer, err: error}, 'oidc authenticator: initializing plugin');
        this.#problem = `oidc: authenticator for issuer ${JSON.stringify(issuer)} is not initialized: ${(error as Error).message}`;
      }
      await sleep(clock, retryMs, signal).catch(() => {});
    }
  }

  async #discovered(): Promise<KeySet> {
    const {issuer, discoveryURL, get, clock, fetched} = this.#options;
    const {status, body} = await get(discoveryURL || `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (status !== 200) throw new Error(`${status}: ${body.toString('utf8', 0, 200)}`);
    const document = parsedDocument(body.toString());
    if (document['issuer'] !== issuer)
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuer)} got ${JSON.stringify(document['issuer'] ?? '')}`,
      );
    const keys = document['jwks_uri'];
    if (typeof keys !== 'string' || !keys.startsWith('https://') || !URL.canParse(keys))
      throw new Error('oidc: the discovery document names no jwks_uri with scheme https');
    return new KeySet(keys, get, clock, fetched);
  }
}

const parsedDocument = (text: string): Readonly<Record<string, unknown>> => {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new Error(`oidc: failed to decode provider discovery object: ${(cause as Error).message}`, {cause});
  }
  if (!isPlainObject(document)) throw new Error('oidc: failed to decode provider discovery object: it is not an object');
  return document;
};

const shownTime = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms / 1000));

/** Throws for a token that has expired, or is not valid yet. One without an expiry has expired. */
const checkTimes = (claims: Claims, now: number): void => {
  const expiry = (timeClaim(claims, 'exp') ?? 0) * 1000;
  if (expiry < now) throw new Error(`oidc: token is expired (Token Expiry: ${shownTime(expiry)})`);
  const notBefore = timeClaim(claims, 'nbf');
  if (notBefore !== undefined && now + leewayMs < notBefore * 1000)
    throw new Error(`oidc: current time ${shownTime(now)} before the nbf (not before) time: ${shownTime(notBefore * 1000)}`);
};
