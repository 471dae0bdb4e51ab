import type {AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {serviceAccountUser, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {TokenClaims} from '#src/pki/keys/token.js';
import {InvalidToken, signedTokens, type TokenTrust} from './signed-tokens.js';

/**
 * The tolerated clock difference of issuers and verifiers, and how long tokens stay valid after the deletion of a bound
 * object.
 */
const leewayMs = 60_000;

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** The private claims of the server's own tokens. */
interface PrivateClaims {
  readonly namespace: string;
  readonly account: Reference;
  readonly pod: Reference | undefined;
  readonly secret: Reference | undefined;
  readonly node: Reference | undefined;
  /** The time (s since the epoch) from which its use is recorded as stale; zero for never. */
  readonly warnAfter: number;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const referenceIn = (value: unknown): Reference | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  const {name, uid} = value as Record<string, unknown>;
  return {name: text(name), uid: text(uid)};
};

const privateClaims = (claims: TokenClaims, naming: Naming): PrivateClaims => {
  const own = (claims[naming.domain] ?? {}) as Record<string, unknown>;
  return {
    namespace: text(own['namespace']),
    account: referenceIn(own['serviceaccount']) ?? {name: '', uid: ''},
    pod: referenceIn(own['pod']),
    secret: referenceIn(own['secret']),
    node: referenceIn(own['node']),
    warnAfter: Number(own['warnafter'] ?? 0),
  };
};

/** Throws for a token that has expired or is not valid yet (RFC 7519 §4.1.4 to §4.1.6). */
const checkTimes = ({exp, nbf, iat}: TokenClaims, now: number): void => {
  if (exp !== undefined && now - leewayMs > exp * 1000) throw new InvalidToken('service account token has expired');
  if (nbf !== undefined && now + leewayMs < nbf * 1000) throw new InvalidToken('service account token is not valid yet');
  if (iat !== undefined && now + leewayMs < iat * 1000) {
    throw new InvalidToken('service account token claims could not be validated due to unexpected validation error');
  }
};

export interface BoundTokenParts extends TokenTrust {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly reader: Reader;
  readonly issuers: readonly string[];
}

/**
 * Authenticates tokens issued by the server: the account, and the objects that the token is bound to, must still exist
 * with the same uid. The token of a pod is valid whether or not its node exists.
 */
export const boundTokens = ({naming, clock, reader, issuers, ...trust}: BoundTokenParts): Authenticator => {
  const isGone = ({metadata}: Readonly<KubeObject>): boolean => {
    const deleted = parseTime(metadata?.deletionTimestamp);
    return deleted !== undefined && deleted < clock.now() - leewayMs;
  };

  const checkBinding = async (kind: Kind, namespace: string, {name, uid}: Reference, claim: 'secret' | 'pod' | 'node'): Promise<void> => {
    const object = await reader.get(kind, namespace, name);
    if (!object || isGone(object)) throw new InvalidToken('service account token has been invalidated');
    const current = object.metadata?.uid;
    if (current !== uid) throw new InvalidToken(`${claim} UID (${current}) does not match service account ${claim} ref claim (${uid})`);
  };

  const checkAccount = async (namespace: string, {name, uid}: Reference): Promise<void> => {
    const account = await reader.get(kinds.serviceAccounts, namespace, name);
    if (!account) throw new InvalidToken(`serviceaccounts ${JSON.stringify(name)} not found`);
    if (isGone(account)) throw new InvalidToken(`service account ${namespace}/${name} has been deleted`);
    if (account.metadata?.uid !== uid)
      throw new InvalidToken(`service account UID (${account.metadata?.uid}) does not match claim (${uid})`);
  };

  const userOf = ({namespace, account, pod, node}: PrivateClaims, jti: string | undefined): UserInfo => {
    const {extras} = naming;
    const extra = {
      ...(pod ? {[extras.podName]: [pod.name], [extras.podUid]: [pod.uid]} : {}),
      ...(jti ? {[extras.credentialId]: [`JTI=${jti}`]} : {}),
      ...(node?.name ? {[extras.nodeName]: [node.name]} : {}),
      ...(node?.name && node.uid ? {[extras.nodeUid]: [node.uid]} : {}),
    };
    const user = serviceAccountUser(namespace, account.name, account.uid);
    return Object.keys(extra).length > 0 ? {...user, extra} : user;
  };

  /**
   * Records the use of a token with an extended lifetime after its requested one: the client did not reload the token.
   */
  const recordStaleUse = ({warnAfter}: PrivateClaims, subject: string, request: AuthenticationRequest): void => {
    if (!warnAfter) return;
    const lateSeconds = Math.floor(clock.now() / 1000) - warnAfter;
    const isStale = clock.now() > warnAfter * 1000;
    trust.note(isStale ? 'stale' : 'valid', `subject: ${subject}, seconds after warning threshold: ${lateSeconds}`, request);
  };

  return signedTokens('service-account', issuers, trust, async (claims, _token, request) => {
    checkTimes(claims, clock.now());
    const own = privateClaims(claims, naming);
    const {namespace, pod, secret, node} = own;
    await checkAccount(namespace, own.account);
    if (secret) await checkBinding(kinds.secrets, namespace, secret, 'secret');
    if (pod) await checkBinding(kinds.pods, namespace, pod, 'pod');
    if (node && !pod) await checkBinding(kinds.nodes, '', node, 'node');
    recordStaleUse(own, claims.sub ?? '', request);
    return userOf(own, claims.jti);
  });
};
