// Distributed claims (OpenID Connect Core 1.0 §5.6.2): a claim that a token does not hold, but for which it names an
// endpoint that returns it in a token of its own. Only the claim of the groups is resolved. The endpoint is named by a
// verified token; its answer is verified like any token, by the keys of its own issuer.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import {claim, jsonKind, parseToken, type Claims} from './claims.js';
import type {GetDocument} from './issuer-calls.js';
import {Provider} from './provider.js';

export interface DistributedClaimsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly get: GetDocument;
  /** The claim that is resolved. */
  readonly name: string;
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  /** Ends calls and the attempts to reach issuers. */
  readonly signal: AbortSignal;
}

/** The number of issuers of distributed claims; with one more the oldest is forgotten. */
const maxIssuers = 16;

interface Source {
  readonly endpoint: string;
  readonly accessToken: string;
}

interface Claimant {
  readonly provider: Provider;
  readonly stopping: AbortController;
}

/** Resolves one claim of tokens. */
export class DistributedClaims {
  readonly #options: DistributedClaimsOptions;
  readonly #issuers = new Map<string, Claimant>();

  constructor(options: DistributedClaimsOptions) {
    this.#options = options;
  }

  /**
   * Returns the claims with the resolved one; the same claims if they have it already, or name no endpoint for it.
   * Rejects with upstream's message.
   */
  async expand(claims: Claims): Promise<Claims> {
    const {name} = this.#options;
    if (claim(claims, name) !== undefined) return claims;
    const source = sourceOf(claims, name);
    return source ? {...claims, [name]: await this.#resolved(source)} : claims;
  }

  async #resolved(source: Source): Promise<unknown> {
    const {name} = this.#options;
    const text = await this.#fetched(source).catch((cause: Error) => {
      throw new Error(`while getting distributed claim ${JSON.stringify(name)}: ${cause.message}`, {cause});
    });
    const token = parseToken(text);
    if (!token)
      throw new Error(
        `getting untrusted issuer from endpoint ${source.endpoint} failed for claim ${JSON.stringify(name)}: ${problemOf(text)}`,
      );
    const provider = this.#issuer(token.issuer);
    await provider.attempted();
    if (provider.problem)
      throw new Error(
        `verifying untrusted issuer ${token.issuer} failed: verifier not initialized for issuer: ${JSON.stringify(token.issuer)}`,
      );
    const claims = await provider.verify(token).catch((cause: Error) => {
      throw new Error(`verify distributed claim token: ${cause.message}`, {cause});
    });
    const value = claim(claims, name);
    if (value === undefined)
      throw new Error(`jwt returned by distributed claim endpoint ${JSON.stringify(source.endpoint)} did not contain claim: ${name}`);
    return value;
  }

  async #fetched({endpoint, accessToken}: Source): Promise<string> {
    const headers: Record<string, string> = accessToken ? {Authorization: `Bearer ${accessToken}`} : {};
    const {status, body} = await this.#options.get(endpoint, headers);
    if (status < 200 || status > 226) throw new Error(`error while getting distributed claim JWT: ${status}`);
    return body.toString();
  }

  #issuer(issuer: string): Provider {
    const known = this.#issuers.get(issuer);
    if (known) return known.provider;
    const [oldest] = this.#issuers;
    if (oldest && this.#issuers.size >= maxIssuers) {
      this.#issuers.delete(oldest[0]);
      oldest[1].stopping.abort(new Error('there are more issuers of distributed claims'));
    }
    const stopping = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, stopping.signal]);
    const provider = new Provider({...this.#options, issuer, fetched() {}, signal});
    this.#issuers.set(issuer, {provider, stopping});
    provider.start();
    return provider;
  }
}

/** The endpoint that the claims name for a claim; undefined without one, or if the claim is aggregated. */
const sourceOf = (claims: Claims, name: string): Source | undefined => {
  const names = claim(claims, '_claim_names');
  if (names === undefined) return undefined;
  const nameTexts = mapIn(names, 'oidc: error parsing distributed claim names', 'map[string]string', text);
  const given = claim(claims, '_claim_sources');
  if (given === undefined) throw new Error('oidc: no claim sources');
  const sources = mapIn(given, 'oidc: could not parse claim sources', 'map[string]oidc.endpoint', sourceIn);
  const source = nameTexts.get(name);
  if (source === undefined) return undefined;
  const found = sources.get(source);
  if (!found) throw new Error(`id token _claim_names contained a source ${source} missing in _claims_sources`);
  return found.endpoint ? found : undefined;
};

const mapIn = <T>(value: unknown, what: string, type: string, read: (item: unknown) => T): Map<string, T> => {
  if (value === null) return new Map();
  try {
    if (!isPlainObject(value)) throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type ${type}`);
    return new Map(Object.entries(value).map(([key, item]) => [key, read(item)]));
  } catch (cause) {
    throw new Error(`${what}: ${(cause as Error).message}`, {cause});
  }
};

const text = (value: unknown): string => {
  if (value === null) return '';
  if (typeof value !== 'string') throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type string`);
  return value;
};

const sourceIn = (value: unknown): Source => {
  if (value === null) return {endpoint: '', accessToken: ''};
  if (!isPlainObject(value)) throw new Error(`json: cannot unmarshal ${jsonKind(value)} into Go value of type oidc.endpoint`);
  return {endpoint: text(claim(value, 'endpoint') ?? null), accessToken: text(claim(value, 'access_token') ?? null)};
};

/** Why a text is not a token with an issuer. */
const problemOf = (given: string): string => {
  if (given.trimStart().startsWith('{')) return 'token is not compact JWT';
  return given.split('.', 4).length === 3 ? 'error decoding token' : 'malformed token';
};
