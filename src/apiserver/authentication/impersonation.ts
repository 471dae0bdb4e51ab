import type {Attributes, Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {ApiRequest} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import {serviceAccountUser, type UserInfo} from '#src/api/user.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {serviceAccountOf, wantedIdentity, withOwnGroup, type WantedIdentity} from './impersonated-identity.js';

/** The user as whom a request is served. */
export interface Impersonated {
  readonly user: UserInfo;
  /** The verb that constrained impersonation allowed; undefined if it was not used. */
  readonly constraint?: string;
}

/**
 * Determines the user that a request with impersonation headers is served as. Rejects with 403 unless its user may
 * impersonate every part of the identity, and with 400 when other parts come without a user.
 */
export interface Impersonation {
  of(request: ApiRequest, attributes: Attributes): Promise<Impersonated>;
}

/** Impersonation as the API reference describes it: each part of the identity needs the verb `impersonate`. */
export class PlainImpersonation implements Impersonation {
  readonly #authorizer: Authorizer;
  readonly #naming: Naming;

  constructor(authorizer: Authorizer, naming: Naming) {
    this.#authorizer = authorizer;
    this.#naming = naming;
  }

  async of({headers}: ApiRequest, {user}: Attributes): Promise<Impersonated> {
    const wanted = wantedIdentity(headers);
    const {name, uid, groups, extra} = wanted;
    if (!name) {
      const parts = requestedParts(wanted, this.#naming);
      if (parts.length > 0) throw badRequest(`requested [${parts.join(' ')}] without impersonating a user`);
      return {user};
    }
    const may = async (group: string, resource: string, subresource: string, namespace: string, target: string) => {
      const attributes: Attributes = {
        user,
        verb: 'impersonate',
        resource: {group, version: 'v1', resource, subresource, namespace, name: target},
        path: '',
      };
      const {decision, reason} = await this.#authorizer.authorize(attributes);
      if (decision !== 'allow') throw denial(attributes, reason);
    };
    const account = serviceAccountOf(name);
    if (account) await may('', 'serviceaccounts', '', account.namespace, account.name);
    else await may('', 'users', '', '', name);
    const authentication = this.#naming.group('authentication');
    for (const group of groups) await may('', 'groups', '', '', group);
    for (const [key, texts] of extra) for (const text of texts) await may(authentication, 'userextras', key, '', text);
    if (uid) await may(authentication, 'uids', '', '', uid);
    const given = groups.length === 0 && account ? serviceAccountUser(account.namespace, account.name).groups : groups;
    return {user: impersonatedUser(wanted, given)};
  }
}

/** Returns the user of an identity, with these groups. */
export const impersonatedUser = ({name, uid, extra}: WantedIdentity, groups: readonly string[]): UserInfo => ({
  name,
  ...(uid ? {uid} : {}),
  groups: withOwnGroup(name, groups),
  ...(extra.size > 0 ? {extra: Object.fromEntries(extra)} : {}),
});

/** The parts of an identity as an error shows them: as object references, with the empty fields in between. */
const requestedParts = ({uid, groups, extra}: WantedIdentity, naming: Naming): string[] => {
  const version = naming.apiVersion('authentication', 'v1');
  return [
    ...groups.map(group => `{Group  ${group}    }`),
    ...[...extra].flatMap(([key, texts]) => texts.map(text => `{UserExtra  ${text}  ${version}  ${key}}`)),
    ...(uid ? [`{UID  ${uid}  ${version}  }`] : []),
  ];
};
