// The service accounts of pods, for providers that exchange their tokens for credentials.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ServiceAccount} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {CredentialSource} from '#src/platlet/images/keyring.js';
import type {TokenAttributes} from './credential-provider.js';

/** Reads service accounts, and requests tokens of them that are bound to pods. */
export interface ServiceAccounts {
  get(namespace: string, name: string): Promise<Frozen<ServiceAccount>>;
  token(pod: Frozen<Pod>, audience: string): Promise<string>;
}

/** The service account of a pod. */
export interface PodAccount {
  readonly source: CredentialSource;
  /** Those that the provider asks for. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly token: string;
}

/** Returns the annotations that a provider asks for; undefined if the account lacks one that it needs. */
export const wantedAnnotations = (
  annotations: Readonly<Record<string, string>>,
  {requiredServiceAccountAnnotationKeys: needed, optionalServiceAccountAnnotationKeys: optional}: TokenAttributes,
): Readonly<Record<string, string>> | undefined => {
  const has = (key: string): boolean => Object.hasOwn(annotations, key);
  if (!needed.every(has)) return undefined;
  return Object.fromEntries([...needed, ...optional].filter(has).map(key => [key, annotations[key]!]));
};

/** Gives one provider the service accounts of pods. */
export class AccountTokens {
  readonly #attributes: TokenAttributes;
  readonly #accounts: ServiceAccounts;
  readonly #log: Log;

  constructor(attributes: TokenAttributes, accounts: ServiceAccounts, log: Log) {
    this.#attributes = attributes;
    this.#accounts = accounts;
    this.#log = log;
  }

  /**
   * Returns the account of a pod; undefined if the pod has none and the provider is asked all the same; `none` if it is
   * not asked. Rejects if the account cannot be read, or gets no token.
   */
  async of(pod: Frozen<Pod>): Promise<PodAccount | undefined | 'none'> {
    const {namespace = ''} = pod.metadata ?? {};
    const name = pod.spec?.serviceAccountName ?? '';
    if (!name) return this.#attributes.requireServiceAccount ? 'none' : undefined;
    const account = await this.#accounts.get(namespace, name).catch((cause: unknown) => {
      throw new Error(`failed to get service account: ${messageOf(cause)}`, {cause});
    });
    const annotations = wantedAnnotations(account.metadata?.annotations ?? {}, this.#attributes);
    if (!annotations) {
      this.#log.v(5).info({namespace, serviceAccount: name}, 'the service account lacks an annotation that the provider requires');
      return 'none';
    }
    const token = await this.#accounts.token(pod, this.#attributes.serviceAccountTokenAudience).catch((cause: unknown) => {
      throw new Error(`failed to get service account token: ${messageOf(cause)}`, {cause});
    });
    return {source: {uid: account.metadata?.uid ?? '', namespace, name}, annotations, token};
  }
}
