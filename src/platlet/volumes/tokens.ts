// Service account tokens of pods.

import {formatDuration} from '#src/api/duration.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';

export interface PodTokensParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface TokenOptions {
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
}

interface Token {
  readonly text: string;
  readonly expirationTimestamp: string;
  readonly expiresAt: number;
  readonly lifeMs: number;
}

/** A token is renewed when this fraction of its lifetime is left, or at this age, with jitter. */
const renewalFraction = 0.2;
const oldestMs = 24 * 3_600_000;
const jitterMs = 10_000;

/** Requests tokens, and caches them while pods use them. */
export class PodTokens {
  readonly #parts: PodTokensParts;
  /** By pod uid, then by requested content. */
  readonly #tokens = new Map<string, Map<string, Token>>();

  constructor(parts: PodTokensParts) {
    this.#parts = parts;
  }

  /** Returns a token for a pod. If renewal fails, the old one is used until it expires. */
  async get(pod: Frozen<Pod>, options: TokenOptions): Promise<string> {
    return (await this.#tokenOf(pod, options)).text;
  }

  /** Returns a token for a pod with the time at which it expires. */
  async grant(pod: Frozen<Pod>, options: TokenOptions): Promise<{readonly token: string; readonly expirationTimestamp: string}> {
    const {text, expirationTimestamp} = await this.#tokenOf(pod, options);
    return {token: text, expirationTimestamp};
  }

  async #tokenOf(pod: Frozen<Pod>, options: TokenOptions): Promise<Token> {
    const {clock, log} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    const account = pod.spec?.serviceAccountName ?? '';
    const key = JSON.stringify([account, options.audience ?? '', options.expirationSeconds]);
    const tokens = this.#tokens.get(uid) ?? new Map<string, Token>();
    const known = tokens.get(key);
    if (known && !this.#isDue(known)) return known;
    try {
      const token = await this.#request(pod, account, options);
      this.#tokens.set(uid, tokens.set(key, token));
      return token;
    } catch (error) {
      if (!known) throw new Error(`failed to fetch token: ${messageOf(error)}`, {cause: error});
      const name = `${JSON.stringify(account)}/${JSON.stringify(pod.metadata?.namespace ?? '')}/${formatDuration(options.expirationSeconds * 1000)}`;
      if (clock.now() > known.expiresAt) throw new Error(`token ${name} expired and refresh failed: ${messageOf(error)}`, {cause: error});
      log.error({serviceAccount: account, err: error}, 'could not update token');
      return known;
    }
  }

  /** Forgets the tokens of a pod. */
  forget(uid: string): void {
    this.#tokens.delete(uid);
  }

  #isDue({expiresAt, lifeMs}: Token): boolean {
    const {clock, random} = this.#parts;
    const now = clock.now() + random.float() * jitterMs;
    return now > expiresAt - lifeMs + oldestMs || now > expiresAt - lifeMs * renewalFraction;
  }

  async #request({metadata}: Frozen<Pod>, account: string, {audience, expirationSeconds}: TokenOptions): Promise<Token> {
    const {client, clock} = this.#parts;
    const {name = '', namespace = '', uid = ''} = metadata ?? {};
    const body = {
      spec: {
        audiences: audience ? [audience] : [],
        expirationSeconds,
        boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name, uid},
      },
    } as KubeObject;
    const accounts = client.resource(kinds.serviceAccounts);
    const {spec, status} = (await accounts.create(body, {subresource: 'token', name: account, namespace})) as TokenRequest;
    const lifeMs = (spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const {token: text, expirationTimestamp} = status!;
    return {text, expirationTimestamp, expiresAt: parseTime(expirationTimestamp) ?? clock.now() + lifeMs, lifeMs};
  }
}
