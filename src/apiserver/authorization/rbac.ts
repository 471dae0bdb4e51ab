// The RBAC authorizer: decides by the rules of the roles that are bound to a user. It never denies, and keeps the rules
// of users in a bounded cache, whose entries are discarded when a role or binding changes.

import {notFound} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {PolicyRule} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Attributes, Authorizer, Decision, NonResourceRule, ResourceRule, UserRules} from '#src/api/authorization.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {Policy, type Applied, type Binding, type PolicySource} from './policy.js';
import {allows} from './rules.js';

/** A rule that applies to a user, and a description of its binding. */
export interface UserRule {
  readonly rule: Readonly<PolicyRule>;
  source(): string;
}

/** All permissions of a user, and the bindings to missing roles. */
export interface EffectiveRules {
  readonly rules: readonly UserRule[];
  readonly errors: readonly Error[];
}

/** Cached rules of users. */
const bound = new CacheBound('rbac_rules', 32 << 20);
/** The estimated memory of a cached rule besides the rule itself, and of an error. */
const [ruleBytes, errorBytes] = [150, 1000];

const quoted = JSON.stringify;

const subjectText = ({subject, binding}: Applied): string =>
  `${subject.kind} ${quoted(subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || (binding.metadata?.namespace ?? '')}` : subject.name)}`;

const sourceText = (applied: Applied): string => {
  const {name = '', namespace} = applied.binding.metadata ?? {};
  const {kind, name: role} = applied.binding.roleRef;
  const binding = namespace ? `RoleBinding ${quoted(`${name}/${namespace}`)}` : `ClusterRoleBinding ${quoted(name)}`;
  return `${binding} of ${kind} ${quoted(role)} to ${subjectText(applied)}`;
};

/** Joins several errors: each once, in brackets if there are several. */
export const aggregated = (errors: readonly Error[]): string => {
  const texts = [...new Set(errors.map(({message}) => message))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
};

const userKey = ({name, groups}: UserInfo): string => JSON.stringify([name, ...groups]);

/**
 * Authorizes by roles and bindings (the API reference, RBAC authorization). Never denies: without a matching rule it has no opinion. Since rules only add
 * permissions, bindings to missing roles are skipped, and reported when nothing allows the request.
 */
export class Rbac implements Authorizer {
  readonly #naming: Naming;
  readonly #policy = new Policy();
  readonly #cached = new Lru<string, EffectiveRules>(bound, {
    bytesOf: ({rules, errors}) => 200 + rules.length * ruleBytes + errors.length * errorBytes,
  });
  #revision = -1;

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  /** Follows the policy of a source until the signal aborts. Resolves once it is read. */
  follow(source: PolicySource, signal: AbortSignal): Promise<void> {
    return source.follow(change => this.#policy.apply(change), signal);
  }

  authorize(attributes: Attributes): Decision {
    const {rules, errors} = this.effectiveRules(attributes.user, attributes.resource?.namespace ?? '');
    const found = rules.find(({rule}) => allows(rule, attributes));
    if (found) return {decision: 'allow', reason: `RBAC: allowed by ${found.source()}`};
    return {decision: 'noOpinion', ...(errors.length > 0 ? {reason: `RBAC: ${aggregated(errors)}`} : {})};
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const {rules, errors} = this.effectiveRules(user, namespace);
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    for (const {rule} of rules) {
      const {verbs, apiGroups, resources, resourceNames, nonResourceURLs} = rule;
      if (resources?.length) {
        resourceRules.push({verbs, ...(apiGroups ? {apiGroups} : {}), resources, ...(resourceNames?.length ? {resourceNames} : {})});
      }
      if (nonResourceURLs?.length) nonResourceRules.push({verbs, nonResourceURLs});
    }
    return {resourceRules, nonResourceRules, incomplete: false, ...(errors.length > 0 ? {error: aggregated(errors)} : {})};
  }

  /** Returns all rules that apply to a user in a namespace; without one, those that apply cluster-wide. */
  effectiveRules(user: UserInfo, namespace: string): EffectiveRules {
    if (this.#revision !== this.#policy.revision) {
      this.#cached.clear();
      this.#revision = this.#policy.revision;
    }
    const key = `${namespace}\0${userKey(user)}`;
    let found = this.#cached.peek(key);
    if (!found) this.#cached.set(key, (found = this.#computeRules(user, namespace)));
    return found;
  }

  /** Returns the rules of the role that a binding in that namespace refers to, if it exists. */
  find({kind, name}: Binding['roleRef'], namespace: string): readonly PolicyRule[] | undefined {
    return kind === 'ClusterRole' ? this.#policy.rules('', name) : kind === 'Role' ? this.#policy.rules(namespace, name) : undefined;
  }

  /** The same. Throws a 404 if it does not exist. */
  #rulesOf(roleRef: Binding['roleRef'], namespace: string): readonly PolicyRule[] {
    const {kind, name} = roleRef;
    const rules = this.find(roleRef, namespace);
    if (rules) return rules;
    if (kind !== 'ClusterRole' && kind !== 'Role') throw new Error(`unsupported role reference kind: ${quoted(kind)}`);
    throw notFound({group: this.#naming.group('rbac.authorization'), resource: kind.toLowerCase()}, name);
  }

  #computeRules(user: UserInfo, namespace: string): EffectiveRules {
    const rules: UserRule[] = [];
    const errors: Error[] = [];
    const add = (applied: Applied, home: string): void => {
      try {
        const source = (): string => sourceText(applied);
        for (const rule of this.#rulesOf(applied.binding.roleRef, home)) rules.push({rule, source});
      } catch (error) {
        errors.push(error as Error);
      }
    };
    for (const applied of this.#policy.clusterBindingsOf(user)) add(applied, '');
    if (namespace) for (const applied of this.#policy.bindingsOf(user, namespace)) add(applied, namespace);
    return {rules, errors};
  }
}
