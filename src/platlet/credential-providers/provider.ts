// The credentials that a provider has for images of pods: from its cache, or from its program.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {keyringEntry, matchesImage, type CredentialSource, type KeyringEntry} from '#src/platlet/images/keyring.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {CredentialProvider} from './credential-provider.js';
import {runProvider} from './provider-program.js';
import {parseResponse, type ProviderResponse} from './response.js';
import type {AccountTokens, PodAccount} from './account-tokens.js';

export interface ProviderParts {
  readonly provider: CredentialProvider;
  /** The path of the program. */
  readonly path: string;
  /** Undefined: the provider works without service accounts. */
  readonly accounts: AccountTokens | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<AgentMetrics, 'credentialProviderErrors' | 'credentialProviderDuration'>;
}

type Auth = ProviderResponse['auth'];

interface CacheEntry {
  readonly auth: Auth;
  readonly expiresAt: number;
}

/** Stands for all images in keys of the cache; no image has this name. */
const globalKey = '<global>';
const purgeMs = 15 * 60_000;

const registryOf = (image: string): string => image.slice(0, `${image}/`.indexOf('/'));

const keyOf = (parts: readonly unknown[]): string => JSON.stringify(parts);

/** Returns what distinguishes the credentials of service accounts from each other; empty without one. */
const accountKey = (account: PodAccount | undefined, cacheType: string | undefined): string => {
  if (!account) return '';
  const {source, annotations, token} = account;
  const hash = cacheType === 'Token' ? ['token', createHash('sha256').update(token).digest('hex')] : [];
  return keyOf([source.namespace, source.name, source.uid, Object.entries(annotations).sort(), ...hash]);
};

/** One provider of the configuration. */
export class Provider {
  readonly #parts: ProviderParts;
  readonly #cache = new Map<string, CacheEntry>();
  #purgedAt: number;
  /** The calls of the program in progress, by request: equal ones share a call. */
  readonly #calls = new Map<string, Promise<ProviderResponse>>();

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.#purgedAt = parts.clock.now();
  }

  /** Returns the credentials for an image, without tag and digest. A failure is logged and yields none. */
  async entries(pod: Frozen<Pod>, image: string): Promise<readonly KeyringEntry[]> {
    const {provider, log} = this.#parts;
    try {
      return await this.#provide(pod, image);
    } catch (error) {
      log.error({provider: provider.name, image, cause: messageOf(error)}, 'Failed to provide credentials for image');
      return [];
    }
  }

  async #provide(pod: Frozen<Pod>, image: string): Promise<readonly KeyringEntry[]> {
    const {provider, accounts} = this.#parts;
    if (!provider.matchImages.some(pattern => matchesImage(pattern, image))) return [];
    const access = await accounts?.of(pod);
    if (access === 'none') return [];
    const own = accountKey(access, provider.tokenAttributes?.cacheType);
    const cached = this.#cached(image, own);
    const auth = cached ?? (await this.#renew(image, access, own));
    return entriesOf(auth, access?.source);
  }

  #cached(image: string, account: string): Auth | undefined {
    const now = this.#parts.clock.now();
    if (now > this.#purgedAt + purgeMs) {
      for (const [key, {expiresAt}] of this.#cache) if (now > expiresAt) this.#cache.delete(key);
      this.#purgedAt = now;
    }
    for (const base of [image, registryOf(image), globalKey]) {
      const entry = this.#cache.get(keyOf([base, account]));
      if (entry && now <= entry.expiresAt) return entry.auth;
    }
    return undefined;
  }

  async #renew(image: string, account: PodAccount | undefined, own: string): Promise<Auth> {
    const {provider, clock} = this.#parts;
    const response = await this.#call(image, account);
    const {cacheKeyType, auth, cacheMs = provider.defaultCacheDuration ?? 0} = response;
    const isEchoed = account !== undefined && Object.values(auth).some(({password}) => password === account.token);
    if (isEchoed && provider.tokenAttributes?.cacheType !== 'Token')
      throw new Error(
        "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
      );
    const bases: Readonly<Record<string, string>> = {Image: image, Registry: registryOf(image), Global: globalKey};
    const base = Object.hasOwn(bases, cacheKeyType) ? bases[cacheKeyType] : undefined;
    if (base === undefined) throw new Error(`credential provider plugin did not return a valid cacheKeyType: ${cacheKeyType}`);
    if (cacheMs !== 0) this.#cache.set(keyOf([base, own]), {auth, expiresAt: clock.now() + cacheMs});
    return auth;
  }

  async #call(image: string, account: PodAccount | undefined): Promise<ProviderResponse> {
    const key = keyOf([image, account?.token ?? '', Object.entries(account?.annotations ?? {}).sort()]);
    const call = this.#calls.get(key) ?? this.#run(image, account).finally(() => this.#calls.delete(key));
    this.#calls.set(key, call);
    try {
      return await call;
    } catch (cause) {
      throw new Error(`failed to get credential from external registry credential provider: ${messageOf(cause)}`, {cause});
    }
  }

  async #run(image: string, account: PodAccount | undefined): Promise<ProviderResponse> {
    const {provider, path, clock, metrics} = this.#parts;
    const {name, apiVersion, args, env} = provider;
    const request = {
      kind: 'CredentialProviderRequest',
      apiVersion,
      image,
      ...(account ? {serviceAccountToken: account.token} : {}),
      ...(account && Object.keys(account.annotations).length > 0 ? {serviceAccountAnnotations: account.annotations} : {}),
    };
    const since = clock.monotonic();
    let output: string;
    try {
      output = await runProvider({path, args, env, input: `${JSON.stringify(request)}\n`}, clock);
    } catch (cause) {
      metrics.credentialProviderErrors.add({plugin_name: name});
      throw new Error(`error execing credential provider plugin ${name} for image ${image}: ${messageOf(cause)}`, {cause});
    } finally {
      metrics.credentialProviderDuration.observe((clock.monotonic() - since) / 1000, {plugin_name: name});
    }
    return parseResponse(output, apiVersion);
  }
}

const entriesOf = (auth: Auth, serviceAccount: CredentialSource | undefined): readonly KeyringEntry[] =>
  Object.entries(auth).map(([registry, credentials]) => keyringEntry(registry, credentials, serviceAccount ? {serviceAccount} : {}));
