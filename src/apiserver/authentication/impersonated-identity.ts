// The identity that the headers of a request ask for, and what impersonation of any kind makes of names: service
// accounts, nodes, and the groups that every user is in.

import type {ApiRequest} from '#src/api/request.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import {wellKnown} from '#src/api/user.js';

/** The parts of an identity, as the headers give them. */
export interface WantedIdentity {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

const extraPrefix = 'impersonate-extra-';

const values = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** Keys are lower-case as all names of headers, except letters that are encoded. */
const decodedKey = (key: string): string => {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
};

/** Reads the identity that a request asks for. The name is empty if there is none. */
export const wantedIdentity = (headers: ApiRequest['headers']): WantedIdentity => {
  const extra = new Map<string, string[]>();
  for (const header of Object.keys(headers).filter(name => name.startsWith(extraPrefix))) {
    const key = decodedKey(header.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...values(headers[header])]);
  }
  return {
    name: values(headers['impersonate-user'])[0] ?? '',
    uid: values(headers['impersonate-uid'])[0] ?? '',
    groups: values(headers['impersonate-group']),
    extra,
  };
};

const accountPrefix = 'system:serviceaccount:';

/** Returns the service account of a user name; undefined for all other names. */
export const serviceAccountOf = (user: string): {readonly namespace: string; readonly name: string} | undefined => {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace = '', name = '', ...rest] = user.slice(accountPrefix.length).split(':');
  const isAccount = rest.length === 0 && dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
  return isAccount ? {namespace, name} : undefined;
};

/** Returns the node of a user name; undefined for all other names. */
export const nodeOf = (user: string): string | undefined => {
  if (!user.startsWith(wellKnown.nodeUserPrefix)) return undefined;
  const name = user.slice(wellKnown.nodeUserPrefix.length);
  return dnsSubdomainProblems(name).length === 0 ? name : undefined;
};

/** Adds the group of all users, or that of the anonymous one. */
export const withOwnGroup = (name: string, groups: readonly string[]): readonly string[] => {
  const own = name === wellKnown.anonymous ? wellKnown.unauthenticated : wellKnown.authenticated;
  return groups.includes(own) || groups.includes(wellKnown.unauthenticated) ? groups : [...groups, own];
};
