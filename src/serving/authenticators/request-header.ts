import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {type TrustAnchors, verifyChain} from '#src/pki/chain.js';
import type {Authenticator, AuthenticationRequest} from '#src/api/authentication.js';

/** Whom to believe when a proxy says who is calling, and in which headers it says so. */
export interface RequestHeaderTrust {
  /** Who vouches for proxies. */
  readonly authorities: TrustAnchors;
  /** Common names of proxies; empty: every certificate of the authorities. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
  readonly uidHeaders: readonly string[];
}

/** Believes the identity headers of a request whose client certificate belongs to a trusted proxy (the API reference, authenticating proxy). */
export const requestHeaderAuthenticator = (trust: {readonly current: RequestHeaderTrust | undefined}, clock: Clock): Authenticator => {
  const verified = new WeakMap<object, {readonly trust: RequestHeaderTrust; readonly refusal: string | undefined; readonly until: number}>();
  const refusalOf = (request: AuthenticationRequest, current: RequestHeaderTrust): string | undefined => {
    const {connection, certificates} = request.credentials;
    const known = connection && verified.get(connection);
    if (known && known.trust === current && clock.now() < known.until) return known.refusal;
    const fresh = {trust: current, ...proxyVerdict(certificates, current, clock.now())};
    if (connection) verified.set(connection, fresh);
    return fresh.refusal;
  };
  return {
    name: 'requestheader',
    authenticate(request) {
      const {current} = trust;
      if (!current || request.credentials.certificates.length === 0) return undefined;
      const name = first(request, current.usernameHeaders);
      if (!name) return undefined;
      // Whoever is no proxy may still be a user by that certificate: the next authenticator sees to it.
      return refusalOf(request, current) === undefined ? {user: userOf(request, current, name)} : undefined;
    },
  };
};

/** How long a refusal holds. */
const recheckMs = 1000;

const proxyVerdict = (chain: readonly Buffer[], trust: RequestHeaderTrust, now: number): {refusal: string | undefined; until: number} => {
  try {
    const [leaf, ...intermediates] = chain.map(der => parseCertificate(der));
    const outcome = verifyChain(leaf!, {anchors: trust.authorities, intermediates, usage: 'client auth', now});
    if (!outcome.verified) return {refusal: outcome.message, until: now + recheckMs};
    const name = leaf!.subject.commonName;
    const isAllowed = trust.allowedNames.length === 0 || trust.allowedNames.includes(name);
    return {refusal: isAllowed ? undefined : `subject with cn=${name} is not in the allowed list`, until: Math.min(...outcome.chain.map(({notAfter}) => notAfter))};
  } catch (error) {
    return {refusal: (error as Error).message, until: now + recheckMs};
  }
};

const values = ({headers}: AuthenticationRequest, name: string): readonly string[] => {
  const value = headers[name.toLowerCase()];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
};

const first = (request: AuthenticationRequest, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const [value] = values(request, name);
    if (value) return value;
  }
  return undefined;
};

const userOf = (request: AuthenticationRequest, trust: RequestHeaderTrust, name: string): UserInfo => {
  const uid = first(request, trust.uidHeaders);
  return {
    name,
    ...(uid ? {uid} : {}),
    groups: trust.groupHeaders.flatMap(header => values(request, header)),
    extra: extraOf(request, trust.extraHeaderPrefixes),
  };
};

const extraOf = (request: AuthenticationRequest, prefixes: readonly string[]): Record<string, string[]> => {
  // Keys are whatever a header is called. `__proto__` is left out: copies of the object would take its value for their prototype.
  const extra = new Map<string, string[]>();
  for (const header of Object.keys(request.headers)) {
    for (const prefix of prefixes) {
      if (!header.startsWith(prefix.toLowerCase())) continue;
      const key = decoded(header.slice(prefix.length));
      if (key !== '__proto__') extra.set(key, [...(extra.get(key) ?? []), ...values(request, header)]);
    }
  }
  return Object.fromEntries(extra);
};

const decoded = (key: string): string => {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key;
  }
};
