// What is noted about images that the agent has pulled, and what follows from it for pods that ask for them. Pure.

import type {TrackedCredentials} from './keyring.js';

/** A secret that an image was pulled with. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the credentials in it; empty if it is not known. */
  readonly credentialHash: string;
}

/** A service account that an image was pulled with. */
export interface PullServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What an image was pulled with, under one name. */
export interface PullCredentials {
  readonly kubernetesSecrets?: readonly PullSecret[];
  readonly kubernetesServiceAccounts?: readonly PullServiceAccount[];
  /** Whether every pod of the node may use it. */
  readonly nodePodsAccessible?: boolean;
}

/** The note about an image. */
export interface PulledRecord {
  /** In ms. */
  readonly updatedAt: number;
  readonly imageRef: string;
  /** By the name of the image without tag and digest. */
  readonly credentials: Readonly<Record<string, PullCredentials>>;
}

/**
 * The most names of an image, and secrets for one of them, that are noted. What is left out is only asked of the
 * registry again.
 */
const maxEntries = 1_000;
/** The most secrets for which a match that was seen without a pull is noted. */
const maxNotedMatches = 100;

/** Returns what is noted about a pull with credentials; absent: it needed none. */
export const pulledWith = (used: TrackedCredentials | undefined): PullCredentials =>
  used?.source ? {kubernetesSecrets: [{...used.source, credentialHash: used.hash}]} : {nodePodsAccessible: true};

const isSameSecret = (a: PullSecret, b: PullSecret): boolean => a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns secrets with another one among them, in their order; undefined if nothing changes. */
const withSecret = (known: readonly PullSecret[], added: PullSecret): readonly PullSecret[] | undefined => {
  if (known.some(each => isSameSecret(each, added) && each.credentialHash === added.credentialHash)) return undefined;
  const others = known.filter(each => !isSameSecret(each, added)).slice(0, maxEntries - 1);
  return [...others, added].sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid));
};

/** Returns what is noted about a name after one more pull; undefined if nothing changes. */
const withPull = (known: PullCredentials | undefined, added: PullCredentials): PullCredentials | undefined => {
  if (!known) return added;
  if (known.nodePodsAccessible) return undefined;
  if (added.nodePodsAccessible) return {nodePodsAccessible: true};
  let secrets = known.kubernetesSecrets ?? [];
  let isChanged = false;
  for (const secret of added.kubernetesSecrets ?? []) {
    const next = withSecret(secrets, secret);
    isChanged ||= next !== undefined;
    secrets = next ?? secrets;
  }
  return isChanged ? {...known, kubernetesSecrets: secrets} : undefined;
};

/** A pull of an image. */
export interface Pull {
  readonly imageRef: string;
  /** The name of the image without tag and digest. */
  readonly repository: string;
  /** Undefined: it is not known how it was pulled. */
  readonly credentials: PullCredentials | undefined;
}

/** Returns the note about an image after a pull; undefined if it stays as it is. */
export const recordAfter = (
  known: PulledRecord | undefined,
  {imageRef, repository, credentials}: Pull,
  now: number,
): PulledRecord | undefined => {
  if (!known) return {updatedAt: now, imageRef, credentials: credentials ? {[repository]: credentials} : {}};
  const before = Object.hasOwn(known.credentials, repository) ? known.credentials[repository] : undefined;
  const next = credentials && withPull(before, credentials);
  if (!next) return undefined;
  const others = Object.entries(known.credentials).filter(([name]) => name !== repository);
  return {...known, updatedAt: now, credentials: Object.fromEntries([...others.slice(0, maxEntries - 1), [repository, next]])};
};

/** Whether a pod may use an image by the credentials that it was pulled with. */
export interface PullMatch {
  readonly isAllowed: boolean;
  /** A secret that was not noted with these credentials, and now can be. */
  readonly noted?: PullSecret;
}

/**
 * Compares the secrets of a pod with those that an image was pulled with: the same credentials, or the same secret,
 * whose content may have been replaced.
 */
export const matchSecrets = (known: readonly PullSecret[], podSecrets: readonly PullSecret[]): PullMatch => {
  const hasRoom = known.length < maxNotedMatches;
  for (const secret of podSecrets)
    for (const each of known) {
      const isSame = isSameSecret(each, secret);
      if (each.credentialHash !== '' && each.credentialHash === secret.credentialHash)
        return {isAllowed: true, ...(isSame || !hasRoom ? {} : {noted: secret})};
      if (isSame && hasRoom) return {isAllowed: true, noted: secret};
    }
  return {isAllowed: false};
};
