// The records of pulled images, and the decision which pods may use an image by them. Pure.

import type {TrackedCredentials} from './keyring.js';

/** A secret that an image was pulled with. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** The hash of the credentials in it; empty if unknown. */
  readonly credentialHash: string;
}

/** A service account that an image was pulled with. */
export interface PullServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The credentials that an image was pulled with under one name. */
export interface PullCredentials {
  readonly kubernetesSecrets?: readonly PullSecret[];
  readonly kubernetesServiceAccounts?: readonly PullServiceAccount[];
  /** Whether every pod of the node may use it. */
  readonly nodePodsAccessible?: boolean;
}

/** The record of a pulled image. */
export interface PulledRecord {
  /** In ms since the epoch. */
  readonly updatedAt: number;
  readonly imageRef: string;
  /** By image name without tag and digest. */
  readonly credentials: Readonly<Record<string, PullCredentials>>;
}

/**
 * The maximum number of recorded names of an image, and of secrets per name. Whatever is not recorded is only pulled
 * again.
 */
const maxEntries = 1_000;
/** The maximum number of secrets to which a match without a pull is added. */
const maxNotedMatches = 100;

/** Returns the credentials to record for a pull; absent: it needed none. */
export const credentialsRecord = (used: TrackedCredentials | undefined): PullCredentials =>
  used?.source
    ? {kubernetesSecrets: [{...used.source, credentialHash: used.hash}]}
    : used?.serviceAccount
      ? {kubernetesServiceAccounts: [used.serviceAccount]}
      : {nodePodsAccessible: true};

const isSame = (a: PullServiceAccount, b: PullServiceAccount): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

/** Whether the service account of a pod is one of those that an image was pulled with. */
export const matchesAccount = (known: readonly PullServiceAccount[], account: PullServiceAccount | undefined): boolean =>
  account !== undefined && known.some(each => isSame(each, account));

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const inOrder = (a: PullServiceAccount, b: PullServiceAccount): number =>
  compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid);

/** Returns the secrets with another one inserted in order; undefined if it is already there. */
const withSecret = (known: readonly PullSecret[], added: PullSecret): readonly PullSecret[] | undefined => {
  if (known.some(each => isSame(each, added) && each.credentialHash === added.credentialHash)) return undefined;
  const others = known.filter(each => !isSame(each, added)).slice(0, maxEntries - 1);
  return [...others, added].sort(inOrder);
};

/** The same for service accounts. */
const withAccount = (known: readonly PullServiceAccount[], added: PullServiceAccount): readonly PullServiceAccount[] | undefined =>
  known.some(each => isSame(each, added)) ? undefined : [...known.slice(0, maxEntries - 1), added].sort(inOrder);

/** Returns the merged credentials of a name after another pull; undefined if unchanged. */
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
  let accounts = known.kubernetesServiceAccounts ?? [];
  for (const account of added.kubernetesServiceAccounts ?? []) {
    const next = withAccount(accounts, account);
    isChanged ||= next !== undefined;
    accounts = next ?? accounts;
  }
  if (!isChanged) return undefined;
  return {
    ...known,
    ...(secrets.length > 0 ? {kubernetesSecrets: secrets} : {}),
    ...(accounts.length > 0 ? {kubernetesServiceAccounts: accounts} : {}),
  };
};

/** A pull of an image. */
export interface Pull {
  readonly imageRef: string;
  /** The image name without tag and digest. */
  readonly repository: string;
  /** Undefined: the credentials are unknown. */
  readonly credentials: PullCredentials | undefined;
}

/** Returns the record of an image after a pull; undefined if unchanged. */
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

/** Whether a pod may use an image, by the credentials that it was pulled with. */
export interface PullMatch {
  readonly isAllowed: boolean;
  /** A secret that matches and is not recorded with these credentials yet. */
  readonly noted?: PullSecret;
}

/**
 * Compares the secrets of a pod with those that an image was pulled with: equal credentials match, and so does the same
 * secret, even if its content was replaced.
 */
export const matchSecrets = (known: readonly PullSecret[], podSecrets: readonly PullSecret[]): PullMatch => {
  const hasRoom = known.length < maxNotedMatches;
  for (const secret of podSecrets)
    for (const each of known) {
      const isOfSameSecret = isSame(each, secret);
      if (each.credentialHash !== '' && each.credentialHash === secret.credentialHash)
        return {isAllowed: true, ...(isOfSameSecret || !hasRoom ? {} : {noted: secret})};
      if (isOfSameSecret && hasRoom) return {isAllowed: true, noted: secret};
    }
  return {isAllowed: false};
};
