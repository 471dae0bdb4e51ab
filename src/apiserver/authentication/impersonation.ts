import type {ApiRequest} from '#src/api/exchange.js';
import type {Naming} from '#src/api/naming.js';
import {internalError} from '#src/api/status.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {denial} from '#src/serving/authorizers/denial.js';

const extraPrefix = 'impersonate-extra-';

const values = (value: string | readonly string[] | undefined): readonly string[] => (value === undefined ? [] : typeof value === 'string' ? [value] : value);

const decodedKey = (key: string): string => {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key.toLowerCase();
  }
};

/**
 * Whom a request wants to act as, if anyone (the API reference, user impersonation). Throws 403 unless the caller may impersonate every part of
 * it, and 500 when parts come without a user.
 */
export const impersonated = async (request: ApiRequest, user: UserInfo, authorizer: Authorizer, naming: Naming): Promise<UserInfo | undefined> => {
  const {headers} = request;
  const name = values(headers['impersonate-user'])[0] ?? '';
  const uid = values(headers['impersonate-uid'])[0] ?? '';
  const groups = values(headers['impersonate-group']);
  const extra = Object.keys(headers).filter(header => header.startsWith(extraPrefix));
  if (!name) {
    if (uid || groups.length > 0 || extra.length > 0) {
      throw internalError(new Error('invalid request: some impersonation headers are set, but the user to impersonate is not'));
    }
    return undefined;
  }
  const may = async (group: string, resource: string, subresource: string, namespace: string, target: string) => {
    const attributes: Attributes = {user, verb: 'impersonate', resource: {group, version: 'v1', resource, subresource, namespace, name: target}, path: ''};
    const {decision, reason} = await authorizer.authorize(attributes);
    if (decision !== 'allow') throw denial(attributes, reason);
  };
  const [, account] = name.split('system:serviceaccount:');
  const [namespace = '', accountName = ''] = account?.split(':') ?? [];
  if (account === undefined) await may('', 'users', '', '', name);
  else await may('', 'serviceaccounts', '', namespace, accountName);
  const authentication = naming.group('authentication');
  if (uid) await may(authentication, 'uids', '', '', uid);
  for (const group of groups) await may('', 'groups', '', '', group);
  const extras: Record<string, string[]> = {};
  for (const header of extra) {
    const key = decodedKey(header.slice(extraPrefix.length));
    for (const value of values(headers[header])) {
      await may(authentication, 'userextras', key, '', value);
      (extras[key] ??= []).push(value);
    }
  }
  return {
    name,
    ...(uid ? {uid} : {}),
    groups: withOwnGroups(name, groups, account === undefined ? undefined : serviceAccountUser(namespace, accountName)),
    ...(extra.length > 0 ? {extra: extras} : {}),
  };
};

const withOwnGroups = (name: string, asked: readonly string[], account: UserInfo | undefined): string[] => {
  const groups = asked.length === 0 && account ? [...account.groups] : [...asked];
  const own = name === wellKnown.anonymous ? wellKnown.unauthenticated : wellKnown.authenticated;
  return groups.includes(own) || groups.includes(wellKnown.unauthenticated) ? groups : [...groups, own];
};
