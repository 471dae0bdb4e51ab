import type {ActionContext} from '#src/resources/definition.js';
import type {Authorizer} from '#src/api/authorization.js';
import {alwaysAllow, alwaysDeny, privileged, union, unionRules, type RuleLister} from '#src/apiserver/authorization/modes.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {NodeAuthorizer} from '#src/apiserver/authorization/node/authorizer.js';
import {NodeGraph} from '#src/apiserver/authorization/node/graph.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import type {Naming} from '#src/api/naming.js';

/** Who decides in a server, made from `--authorization-mode`. */
export interface Authorizers {
  readonly authorizer: Authorizer;
  readonly rulesFor: ActionContext['rulesFor'];
  /** There when roles and bindings count. */
  readonly rbac: Rbac | undefined;
  /** There when nodes may see what is bound to them. */
  readonly nodes: NodeGraph | undefined;
}

/** The authorizers of the modes in their order; members of the masters' group are allowed before any of them is asked. */
export const createAuthorizers = (modes: readonly string[], naming: Naming, gate: (name: string) => boolean): Authorizers => {
  let rbac: Rbac | undefined;
  let nodes: NodeGraph | undefined;
  const authorizers = modes.map((mode): Authorizer & RuleLister => {
    switch (mode) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'Node':
        return new NodeAuthorizer({graph: (nodes = new NodeGraph(naming)), naming, rules: nodeRules(naming, gate), gate});
      case 'RBAC':
        return (rbac = new Rbac(naming));
      default:
        throw new Error(`--authorization-mode=${mode} is not supported yet`);
    }
  });
  return {authorizer: union([privileged, ...authorizers]), rulesFor: unionRules(authorizers), rbac, nodes};
};

/** What every node may do: the rules of the role that once was bound to all of them. */
const nodeRules = (naming: Naming, gate: (name: string) => boolean) => bootstrapPolicy(naming, gate).clusterRoles.find(({metadata}) => metadata?.name === 'system:node')?.rules ?? [];
