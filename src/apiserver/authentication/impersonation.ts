import type {ApiRequest} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {denial} from '#src/serving/authorizers/denial.js';

const extraPrefix = 'impersonate-extra-';

const values = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

const decodedKey = (key: string): string => {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key.toLowerCase();
  }
};

/** Whether a request has impersonation headers. */
export const requestsImpersonation = (headers: ApiRequest['headers']): boolean => {
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
};

/**
 * Returns the user of a request: the authenticated user, or the impersonated one (the API reference, user impersonation). Throws 403 unless the
 * authenticated user may impersonate every part of the identity, and 400 when other parts come without a user.
 */
export const impersonated = async (request: ApiRequest, user: UserInfo, authorizer: Authorizer, naming: Naming): Promise<UserInfo> => {
  const {headers} = request;
  const name = values(headers['impersonate-user'])[0] ?? '';
  const uid = values(headers['impersonate-uid'])[0] ?? '';
  const groups = values(headers['impersonate-group']);
  const extra = Object.keys(headers).filter(header => header.startsWith(extraPrefix));
  if (!name) {
    const parts = requestedParts(
      {
        uid,
        groups,
        extra: extra.flatMap(header =>
          values(headers[header]).map(value => [decodedKey(header.slice(extraPrefix.length)), value] as const),
        ),
      },
      naming,
    );
    if (parts.length > 0) throw badRequest(`requested [${parts.join(' ')}] without impersonating a user`);
    return user;
  }
  const may = async (group: string, resource: string, subresource: string, namespace: string, target: string) => {
    const attributes: Attributes = {
      user,
      verb: 'impersonate',
      resource: {group, version: 'v1', resource, subresource, namespace, name: target},
      path: '',
    };
    const {decision, reason} = await authorizer.authorize(attributes);
    if (decision !== 'allow') throw denial(attributes, reason);
  };
  const account = serviceAccountOf(name);
  if (account) await may('', 'serviceaccounts', '', account.namespace, account.name);
  else await may('', 'users', '', '', name);
  const authentication = naming.group('authentication');
  for (const group of groups) await may('', 'groups', '', '', group);
  const extras = new Map<string, string[]>();
  for (const header of extra) {
    const key = decodedKey(header.slice(extraPrefix.length));
    for (const value of values(headers[header])) {
      await may(authentication, 'userextras', key, '', value);
      extras.set(key, [...(extras.get(key) ?? []), value]);
    }
  }
  if (uid) await may(authentication, 'uids', '', '', uid);
  return {
    name,
    ...(uid ? {uid} : {}),
    groups: withOwnGroups(name, groups, account && serviceAccountUser(account.namespace, account.name)),
    ...(extra.length > 0 ? {extra: Object.fromEntries(extras)} : {}),
  };
};

/** The parts of an identity as an error shows them: as object references, with the empty fields in between. */
const requestedParts = (
  {
    uid,
    groups,
    extra,
  }: {readonly uid: string; readonly groups: readonly string[]; readonly extra: readonly (readonly [key: string, value: string])[]},
  naming: Naming,
): string[] => {
  const version = naming.apiVersion('authentication', 'v1');
  return [
    ...groups.map(group => `{Group  ${group}    }`),
    ...extra.map(([key, value]) => `{UserExtra  ${value}  ${version}  ${key}}`),
    ...(uid ? [`{UID  ${uid}  ${version}  }`] : []),
  ];
};

const accountPrefix = 'system:serviceaccount:';

/** Returns the service account of a user name; undefined for all other names. */
const serviceAccountOf = (user: string): {readonly namespace: string; readonly name: string} | undefined => {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace = '', name = '', ...rest] = user.slice(accountPrefix.length).split(':');
  const isAccount = rest.length === 0 && dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
  return isAccount ? {namespace, name} : undefined;
};

const withOwnGroups = (name: string, requested: readonly string[], account: UserInfo | undefined): string[] => {
  const groups = requested.length === 0 && account ? [...account.groups] : [...requested];
  const own = name === wellKnown.anonymous ? wellKnown.unauthenticated : wellKnown.authenticated;
  return groups.includes(own) || groups.includes(wellKnown.unauthenticated) ? groups : [...groups, own];
};
