// The issuers of one authentication configuration: verifies a token with the issuer that it names, and caches the user
// for a short time. A reload replaces the whole set.

import {setMaxListeners} from 'node:events';
import type {Authentication} from '#src/api/authentication.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Dial} from '#src/transport/dial.js';
import {TokenCache} from '#src/apiserver/authentication/token-cache.js';
import {parseToken, type Claims, type UnverifiedToken} from './claims.js';
import {issuerCalls} from './issuer-calls.js';
import {DistributedClaims} from './distributed-claims.js';
import type {JwtMetrics} from './metrics.js';
import {Provider} from './provider.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import {userOfClaims} from './user-mapping.js';
import type {CompiledAuthenticator} from './validation.js';

export interface IssuersOptions {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Returns the dialer for an egress selector type; empty for direct connections. Throws for one that is not
   * configured.
   */
  dialFor(egressSelectorType: string): Dial;
  readonly metrics: JwtMetrics;
  readonly meter: Meter;
  /** The allowed signature algorithms (RFC 7518 §3.1). */
  readonly algorithms: readonly string[];
}

/** How long the user of a verified token is cached. */
const cacheMs = 10_000;
const bound = new CacheBound('jwt_users', 16 << 20);

interface Trusted {
  readonly authenticator: CompiledAuthenticator;
  readonly provider: Provider;
  /** Resolves the claim of the groups; undefined if there is none. */
  readonly distributed: DistributedClaims | undefined;
}

/** The issuers of one configuration. They are reached in the background from `start` to `close`. */
export class Issuers {
  readonly #options: IssuersOptions;
  readonly #trusted: ReadonlyMap<string, Trusted>;
  readonly #closing = new AbortController();
  readonly #users: TokenCache<UserInfo>;

  constructor(authenticators: readonly CompiledAuthenticator[], options: IssuersOptions) {
    this.#options = options;
    setMaxListeners(0, this.#closing.signal); // As many listeners as there are issuers and calls.
    const {clock, meter} = options;
    this.#users = new TokenCache({bound, clock, meter, ttlMs: cacheMs});
    this.#trusted = new Map(authenticators.map(authenticator => [authenticator.settings.issuer?.url ?? '', this.#trust(authenticator)]));
  }

  start(): void {
    for (const {provider} of this.#trusted.values()) provider.start();
  }

  /** Why not all issuers' tokens can be verified yet; undefined once they can. */
  get problem(): string | undefined {
    for (const {provider} of this.#trusted.values()) if (provider.problem) return provider.problem;
    return undefined;
  }

  /** Resolves once the tokens of all issuers can be verified. */
  async reached(): Promise<void> {
    for (const {provider} of this.#trusted.values()) await provider.reached();
  }

  /** Authenticates a token of one of the issuers; undefined for others. */
  authenticate(text: string): Authentication | Promise<Authentication> {
    const token = parseToken(text);
    const trusted = token && this.#trusted.get(token.issuer);
    if (!token || !trusted) return undefined;
    return this.#users
      .get(text, [], () => this.#userOf(trusted, token))
      .then(
        user => ({user}),
        (error: Error) => ({rejected: error.message}),
      );
  }

  /**
   * Ends calls in progress and attempts to reach providers. The metrics of issuers that the next configuration does not
   * have are removed.
   */
  close(next?: Issuers): void {
    this.#closing.abort(new Error('the issuer is no longer configured'));
    if (!next) return;
    for (const issuer of this.#trusted.keys()) if (!next.#trusted.has(issuer)) this.#options.metrics.removed(issuer);
  }

  #trust(authenticator: CompiledAuthenticator): Trusted {
    const {clock, log, dialFor, algorithms, metrics} = this.#options;
    const {url = '', discoveryURL, certificateAuthority, audiences = [], egressSelectorType = ''} = authenticator.settings.issuer ?? {};
    const {signal} = this.#closing;
    const get = issuerCalls({dial: dialFor(egressSelectorType), clock, certificateAuthority, signal});
    const provider = new Provider({
      clock,
      log,
      get,
      issuer: url,
      discoveryURL,
      audiences,
      algorithms,
      fetched: outcome => metrics.fetched(url, outcome),
      signal,
    });
    const name = authenticator.settings.claimMappings?.groups?.claim;
    const distributed = name ? new DistributedClaims({clock, log, get, name, audiences, algorithms, signal}) : undefined;
    return {authenticator, provider, distributed};
  }

  async #userOf({authenticator, provider, distributed}: Trusted, token: UnverifiedToken): Promise<UserInfo> {
    const {clock, metrics} = this.#options;
    const begin = clock.monotonic();
    const measured = (result: 'success' | 'failure') => metrics.verified(token.issuer, result, (clock.monotonic() - begin) / 1000);
    try {
      const claims = await withClockHeld(clock, () => provider.verify(token)).catch((cause: Error) => {
        throw new Error(provider.problem ? cause.message : `oidc: verify token: ${cause.message}`, {cause});
      });
      const all = distributed ? await expanded(clock, distributed, claims) : claims;
      const user = await new RequestTurns(clock, {user: {name: token.issuer}}).run(userOfClaims(authenticator, all));
      measured('success');
      return user;
    } catch (error) {
      measured('failure');
      throw error;
    }
  }
}

const expanded = (clock: Clock, distributed: DistributedClaims, claims: Claims): Promise<Claims> =>
  withClockHeld(clock, () => distributed.expand(claims)).catch((cause: Error) => {
    throw new Error(`oidc: could not expand distributed claims: ${cause.message}`, {cause});
  });
