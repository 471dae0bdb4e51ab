import type {ActionContext} from '#src/resources/definition.js';
import type {Authorizer} from '#src/api/authorization.js';
import {alwaysAllow, alwaysDeny, privileged, union, unionRules, type RuleLister} from '#src/apiserver/authorization/modes.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import type {Naming} from '#src/api/naming.js';

/** Who decides in a server, made from `--authorization-mode`. */
export interface Judges {
  readonly authorizer: Authorizer;
  readonly rulesFor: ActionContext['rulesFor'];
  /** There when roles and bindings count. */
  readonly rbac: Rbac | undefined;
}

const later = 'is not part of this build yet: choose from AlwaysAllow, AlwaysDeny and RBAC';

/** The authorizers of the modes in their order; members of the masters' group are allowed before any of them is asked. */
export const judgesOf = (modes: readonly string[], naming: Naming): Judges => {
  let rbac: Rbac | undefined;
  const authorizers = modes.map((mode): Authorizer & RuleLister => {
    switch (mode) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'RBAC':
        return (rbac = new Rbac(naming));
      default:
        throw new Error(`--authorization-mode: mode ${mode} ${later}`);
    }
  });
  return {authorizer: union([privileged, ...authorizers]), rulesFor: unionRules(authorizers), rbac};
};
