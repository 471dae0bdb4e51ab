import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {type TrustAnchors, verifyChain} from '#src/pki/chain.js';
import {lowerCase} from '#src/serving/http-headers.js';
import type {Authenticator, AuthenticationRequest} from '#src/api/authentication.js';

/** The trusted authenticating proxies, and their identity headers. */
export interface RequestHeaderTrust {
  /** The CAs of the proxies' certificates. */
  readonly authorities: TrustAnchors;
  /** The common names of proxies; if empty, all certificates of the CAs. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
  readonly uidHeaders: readonly string[];
}

/**
 * Accepts the identity headers of a request with the client certificate of a trusted proxy (the API reference,
 * authenticating proxy).
 */
export const requestHeaderAuthenticator = (trust: {readonly current: RequestHeaderTrust | undefined}, clock: Clock): Authenticator => {
  const verified = new WeakMap<
    object,
    {readonly trust: RequestHeaderTrust; readonly refusal: string | undefined; readonly until: number}
  >();
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
      // A certificate of another kind may still identify a user by the next authenticator.
      return refusalOf(request, current) === undefined ? {user: userOf(request, current, name)} : undefined;
    },
  };
};

/** How long a refusal is cached. */
const recheckMs = 1000;

const proxyVerdict = (chain: readonly Buffer[], trust: RequestHeaderTrust, now: number): {refusal: string | undefined; until: number} => {
  try {
    const [leaf, ...intermediates] = chain.map(der => parseCertificate(der));
    const outcome = verifyChain(leaf!, {anchors: trust.authorities, intermediates, usage: 'client auth', now});
    if (!outcome.verified) return {refusal: outcome.message, until: now + recheckMs};
    const name = leaf!.subject.commonName;
    const isAllowed = trust.allowedNames.length === 0 || trust.allowedNames.includes(name);
    return {
      refusal: isAllowed ? undefined : `subject with cn=${name} is not in the allowed list`,
      until: Math.min(...outcome.chain.map(({notAfter}) => notAfter)),
    };
  } catch (error) {
    return {refusal: (error as Error).message, until: now + recheckMs};
  }
};

const values = ({headers}: AuthenticationRequest, name: string): readonly string[] => {
  const value = headers[lowerCase(name)];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
};

const first = ({headers}: AuthenticationRequest, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = headers[lowerCase(name)];
    const one = typeof value === 'object' ? value[0] : value;
    if (one) return one;
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
  // Keys come from header names. `__proto__` is left out, since copying the object would set the prototype.
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
