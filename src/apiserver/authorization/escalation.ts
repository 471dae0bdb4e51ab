import {notFound, plainFailure} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {ClusterRole, PolicyRule, Role} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import type {Authorizer} from '#src/api/authorization.js';
import {changesOnlyOwnership} from '#src/apiserver/admission/ownership-changes.js';
import {isPrivileged} from './modes.js';
import type {Binding} from './policy.js';
import {aggregated, type Rbac} from './rbac.js';
import {missing} from './coverage.js';
import {grantLines} from './rules.js';

/** All permissions, which are required to aggregate the rules of other roles. */
const fullAuthority: readonly PolicyRule[] = [
  {verbs: ['*'], apiGroups: ['*'], resources: ['*']},
  {verbs: ['*'], nonResourceURLs: ['*']},
];

const goList = (texts: readonly string[]): string => `[${texts.map(text => JSON.stringify(text)).join(' ')}]`;

/**
 * Returns why a user may not grant the rules in a namespace (cluster-wide without one): permissions that the user
 * lacks. Undefined if allowed.
 */
export const escalation = (rbac: Rbac, user: UserInfo, namespace: string, rules: readonly PolicyRule[]): string | undefined => {
  const {rules: held, errors} = rbac.effectiveRules(user, namespace);
  const lacking = missing(
    held.map(({rule}) => rule),
    rules,
  );
  if (lacking.grants.length === 0) return undefined;
  const lines = [...grantLines(lacking.grants), ...(lacking.hasMore ? ['and more that are not listed'] : [])];
  const resolution = errors.length > 0 ? `; resolution errors: [${aggregated(errors)}]` : '';
  return `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${resolution}`;
};

/** The dependencies of the check. */
export interface EscalationSettings {
  readonly naming: Naming;
  readonly rbac: Rbac;
  readonly authorizer: Authorizer;
}

const may = async (
  {authorizer, naming}: EscalationSettings,
  {user}: AdmissionAttributes,
  verb: string,
  target: {resource: string; namespace: string; name: string},
): Promise<boolean> => {
  const resource = {group: naming.group('rbac.authorization'), version: '*', subresource: '', ...target};
  return (await authorizer.authorize({user, verb, resource, path: ''})).decision === 'allow';
};

/** Whether a role aggregates the rules of others. */
const isAggregated = (role: Readonly<ClusterRole> | undefined): boolean => Boolean(role?.aggregationRule?.clusterRoleSelectors?.length);

const checkRole = async (settings: EscalationSettings, attributes: AdmissionAttributes): Promise<void> => {
  const {namespace, resource, user} = attributes;
  const role = attributes.object as Role & ClusterRole;
  // A role that does not exist yet cannot be granted by name.
  const name = attributes.operation === 'CREATE' ? '' : attributes.name;
  if (await may(settings, attributes, 'escalate', {resource, namespace, name})) return;
  const why = escalation(settings.rbac, user, namespace, role.rules ?? []);
  if (why) throw refuse(attributes, why);
  const aggregates = isAggregated(role) || isAggregated(attributes.oldObject as ClusterRole | undefined);
  if (aggregates && escalation(settings.rbac, user, namespace, fullAuthority)) {
    throw refuse(attributes, 'must have cluster-admin privileges to use the aggregationRule');
  }
};

const checkBinding = async (settings: EscalationSettings, attributes: AdmissionAttributes): Promise<void> => {
  const {namespace, user} = attributes;
  const {roleRef} = attributes.object as Binding;
  const resource = roleRef?.kind === 'ClusterRole' ? 'clusterroles' : roleRef?.kind === 'Role' ? 'roles' : undefined;
  if (!resource) throw plainFailure(`unsupported role reference kind: ${JSON.stringify(roleRef?.kind ?? '')}`);
  if (await may(settings, attributes, 'bind', {resource, namespace, name: roleRef.name})) return;
  const rules = settings.rbac.find(roleRef, namespace);
  // The role is read on behalf of the request, so a missing one is reported under the request's resource.
  if (!rules) throw notFound({group: attributes.group, resource: attributes.resource}, roleRef.name);
  const why = escalation(settings.rbac, user, namespace, rules);
  if (why) throw refuse(attributes, why);
};

const checks: ReadonlyMap<string, typeof checkRole> = new Map([
  ['roles', checkRole],
  ['clusterroles', checkRole],
  ['rolebindings', checkBinding],
  ['clusterrolebindings', checkBinding],
]);

/**
 * Prevents privilege escalation: users may only grant permissions they have (the API reference, "Privilege escalation
 * prevention"), unless they may `escalate` the role, or `bind` the role of a binding. It cannot be disabled, and runs
 * last in the mutating phase, after which rules do not change.
 */
export const escalationCheck = (settings: EscalationSettings): AdmissionPlugin => {
  const group = settings.naming.group('rbac.authorization');
  return {
    name: 'EscalationCheck',
    handles: {operations: ['CREATE', 'UPDATE'], targets: [...checks.keys()].map(resource => ({group, resource, subresource: ''}))},
    unmeasured: true,
    async admit(attributes) {
      const {object, oldObject, user} = attributes;
      const check = checks.get(attributes.resource);
      if (!check || isPrivileged(user)) return;
      if (oldObject && object && changesOnlyOwnership(object, oldObject)) return;
      await check(settings, attributes);
    },
  };
};
