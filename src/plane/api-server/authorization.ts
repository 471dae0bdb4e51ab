import type {ActionContext} from '#src/resources/definition.js';
import type {Authorizer} from '#src/api/authorization.js';
import {alwaysAllow, alwaysDeny, privileged, union, unionRules, type RuleLister} from '#src/apiserver/authorization/modes.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {NodeAuthorizer} from '#src/apiserver/authorization/node/authorizer.js';
import {NodeGraph} from '#src/apiserver/authorization/node/graph.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import type {Naming} from '#src/api/naming.js';

/** The authorizers of a server, from `--authorization-mode`. */
export interface Authorizers {
  readonly authorizer: Authorizer;
  readonly rulesFor: ActionContext['rulesFor'];
  /** Set in mode RBAC. */
  readonly rbac: Rbac | undefined;
  /** Set in mode Node. */
  readonly nodes: NodeGraph | undefined;
}

/** Creates the authorizers of the modes in their order; `system:masters` are allowed before. */
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

/** The rules that apply to all nodes: those of the role that was once bound to them. */
const nodeRules = (naming: Naming, gate: (name: string) => boolean) =>
  bootstrapPolicy(naming, gate).clusterRoles.find(({metadata}) => metadata?.name === 'system:node')?.rules ?? [];
