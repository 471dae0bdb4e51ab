// Constrained impersonation (KEP-5284): an impersonator needs a permission for the identity, `impersonate:MODE`, and
// one for what it does with it, `impersonate-on:MODE:VERB`. The mode follows from the identity: the node of the service
// account's own pod, any node, a service account, or another user. Where no mode allows it, the verb `impersonate`
// does, as without constraints.

import {createHash} from 'node:crypto';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {Naming} from '#src/api/naming.js';
import type {ApiRequest} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import {validateDomainPath} from '#src/resources/validation/domain-names.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {nodeOf, serviceAccountOf, wantedIdentity, type WantedIdentity} from './impersonated-identity.js';
import {impersonatedUser, type Impersonated, type Impersonation} from './impersonation.js';

/** The modes in which users last impersonated others: 32 bytes each. */
const lastModes = new CacheBound('impersonation_modes', 2 << 20);

const modes = ['associated-node', 'arbitrary-node', 'serviceaccount', 'user-info', 'unconstrained'] as const;
type Mode = (typeof modes)[number];

/** With this many values, one permission for all of them is tried before each. */
const manyValues = 4;

/**
 * Tries the modes that fit the identity: first the one that served the user last, then from the narrowest to the
 * widest.
 */
export class ConstrainedImpersonation implements Impersonation {
  readonly #authorizer: Authorizer;
  readonly #naming: Naming;
  readonly #last = new Lru<string, Mode>(lastModes, {bytesOf: () => 32, maxEntries: 10_000});

  constructor(authorizer: Authorizer, naming: Naming) {
    this.#authorizer = authorizer;
    this.#naming = naming;
  }

  async of({headers}: ApiRequest, attributes: Attributes): Promise<Impersonated> {
    const wanted = wantedIdentity(headers);
    const {user} = attributes;
    if (!wanted.name) {
      if (!wanted.uid && wanted.groups.length === 0 && wanted.extra.size === 0) return {user};
      throw badRequest(`requested ${shownIdentity(wanted)} without impersonating a user name`);
    }
    const key = createHash('sha256').update(user.name).digest('base64url');
    const last = this.#last.get(key);
    let refusal: unknown;
    for (const mode of last ? [last, ...modes.filter(each => each !== last)] : modes) {
      if (!this.#fits(mode, wanted, user)) continue;
      try {
        const impersonated = await this.#within(mode, wanted, attributes);
        if (mode !== last) this.#last.set(key, mode);
        return impersonated;
      } catch (error) {
        refusal ??= error;
      }
    }
    throw refusal;
  }

  /** Whether a mode is for an identity. Of nodes and service accounts only the name can be chosen. */
  #fits(mode: Mode, wanted: WantedIdentity, user: UserInfo): boolean {
    const {name, uid, groups, extra} = wanted;
    const isNameOnly = !uid && groups.length === 0 && extra.size === 0;
    const [node, account] = [nodeOf(name), serviceAccountOf(name)];
    switch (mode) {
      case 'associated-node': {
        const {[this.#naming.extras.nodeName]: nodes = []} = user.extra ?? {};
        return isNameOnly && node !== undefined && serviceAccountOf(user.name) !== undefined && nodes.length === 1 && nodes[0] === node;
      }
      case 'arbitrary-node':
        return isNameOnly && node !== undefined;
      case 'serviceaccount':
        return isNameOnly && account !== undefined;
      case 'user-info':
        return node === undefined && account === undefined;
      case 'unconstrained':
        return true;
    }
  }

  async #within(mode: Mode, wanted: WantedIdentity, attributes: Attributes): Promise<Impersonated> {
    const isConstrained = mode !== 'unconstrained';
    const user = mode === 'associated-node' ? this.#anyPodOf(attributes.user) : attributes.user;
    const verb = isConstrained ? `impersonate:${mode}` : 'impersonate';
    if (isConstrained) await this.#allowed({...attributes, user, verb: `impersonate-on:${mode}:${attributes.verb}`});
    const check = new IdentityCheck({
      verb,
      isConstrained,
      namesAnyNode: mode === 'associated-node',
      user,
      naming: this.#naming,
      allowed: each => this.#allowed(each),
    });
    const groups = await check.all(wanted);
    return {user: impersonatedUser(wanted, groups), ...(isConstrained ? {constraint: verb} : {})};
  }

  /** The user without what distinguishes the pods of a service account, so that one decision holds for all of them. */
  #anyPodOf(user: UserInfo): UserInfo {
    const keys = Object.keys(user.extra ?? {}).sort();
    return {...user, extra: {[this.#naming.groupKey('authentication', 'associated-node-keys')]: keys}};
  }

  async #allowed(attributes: Attributes): Promise<void> {
    const {decision, reason, error} = await this.#authorizer.authorize(attributes);
    if (decision !== 'allow') throw denial(attributes, error === undefined ? reason : reason ? `${error}: ${reason}` : error);
  }
}

interface IdentityCheckOptions {
  readonly verb: string;
  readonly isConstrained: boolean;
  readonly namesAnyNode: boolean;
  readonly user: UserInfo;
  readonly naming: Naming;
  allowed(attributes: Attributes): Promise<void>;
}

/** The permissions for the parts of an identity. */
class IdentityCheck {
  readonly #options: IdentityCheckOptions;

  constructor(options: IdentityCheckOptions) {
    this.#options = options;
  }

  /** Returns the groups of the identity. Rejects with 403 if one part is not allowed. */
  async all(wanted: WantedIdentity): Promise<readonly string[]> {
    const groups = await this.#name(wanted);
    if (wanted.uid) await this.#may(this.#attributes('authentication', 'uids', '', wanted.uid));
    await this.#groups(wanted.groups);
    await this.#extra(wanted.extra);
    return groups;
  }

  async #name({name, groups}: WantedIdentity): Promise<readonly string[]> {
    const {isConstrained, namesAnyNode} = this.#options;
    const node = isConstrained ? nodeOf(name) : undefined;
    const account = serviceAccountOf(name);
    if (node !== undefined) await this.#may(this.#attributes('core', 'nodes', '', namesAnyNode ? '*' : node));
    else if (account) await this.#may(this.#attributes('core', 'serviceaccounts', '', account.name, account.namespace));
    else await this.#may(this.#attributes('core', 'users', '', name));
    if (node !== undefined) return [wellKnown.nodes];
    return account && groups.length === 0 ? serviceAccountUser(account.namespace, account.name).groups : groups;
  }

  async #groups(groups: readonly string[]): Promise<void> {
    const of = (name: string) => this.#attributes('core', 'groups', '', name);
    if (this.#options.isConstrained) {
      if (groups.includes('')) throw denial(of(''), 'impersonating the empty string group is not allowed');
      if (groups.includes(wellKnown.masters)) throw denial(of(wellKnown.masters), 'impersonating the system:masters group is not allowed');
      if (groups.length >= manyValues && (await this.#mayAll(of('*')))) return;
    }
    for (const group of groups) await this.#may(of(group));
  }

  async #extra(extra: WantedIdentity['extra']): Promise<void> {
    const of = (key: string, text: string) => this.#attributes('authentication', 'userextras', key, text);
    if (this.#options.isConstrained) {
      for (const [key, texts] of extra) {
        const problem = extraProblem(key, texts);
        if (problem) throw denial(of('', ''), problem);
      }
      const count = [...extra.values()].reduce((sum, texts) => sum + texts.length, 0);
      if (Math.max(count, extra.size) >= manyValues && (await this.#mayAll(of('*', '*')))) return;
    }
    for (const [key, texts] of extra) for (const text of texts) await this.#may(of(key, text));
  }

  /** Users, groups, nodes and accounts belong to the group of authentication, except without constraints. */
  #attributes(group: 'core' | 'authentication', resource: string, subresource: string, name: string, namespace = ''): Attributes {
    const {user, verb, naming, isConstrained} = this.#options;
    const wire = group === 'core' && !isConstrained ? '' : naming.group('authentication');
    return {user, verb, resource: {group: wire, version: 'v1', resource, subresource, namespace, name}, path: ''};
  }

  #may(attributes: Attributes): Promise<void> {
    return this.#options.allowed(attributes);
  }

  #mayAll(attributes: Attributes): Promise<boolean> {
    return this.#may(attributes).then(
      () => true,
      () => false,
    );
  }
}

const extraProblem = (key: string, texts: readonly string[]): string | undefined => {
  if (key === '') return 'impersonating the empty string key in extra is not allowed';
  const problems = [...validateDomainPath('extra.key', key)].map(({path, detail}) => `${path}: ${detail}`);
  if (problems.length > 0)
    return `impersonating an invalid key in extra is not allowed: ${problems.length > 1 ? `[${problems.join(', ')}]` : problems[0]}`;
  if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  if (texts.length === 0) return 'impersonating empty values in extra is not allowed';
  return texts.includes('') ? 'impersonating the empty string value in extra is not allowed' : undefined;
};

const goList = (texts: readonly string[]): string =>
  texts.length === 0 ? '[]string(nil)' : `[]string{${texts.map(text => JSON.stringify(text)).join(', ')}}`;

/** An identity as Go prints the structure. */
const shownIdentity = ({name, uid, groups, extra}: WantedIdentity): string => {
  const keys = [...extra.keys()].sort();
  const map =
    keys.length === 0
      ? 'map[string][]string(nil)'
      : `map[string][]string{${keys.map(key => `${JSON.stringify(key)}:${goList(extra.get(key)!)}`).join(', ')}}`;
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${goList(groups)}, Extra:${map}}`;
};
