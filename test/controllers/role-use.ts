import type {ExecutionContext} from 'ava';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {naming} from '#src/api/naming.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Controller} from '#src/runtime/controller.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';
import {alone} from './workloads.js';

/** The manager's own identity lists and watches, and Events may or may not be patched. */
const isCompared = (permission: string): boolean => !/^(get|list|watch) | events$/.test(permission);

/** Permissions that a role of controllers grants: `verb group resource`. */
const grantsOf = (account: string): Set<string> => {
  const {clusterRoles} = bootstrapPolicy(naming('plat'), () => true);
  const rules = clusterRoles.find(({metadata}) => metadata?.name === `system:controller:${account}`)?.rules ?? [];
  return new Set(
    rules.flatMap(({verbs, apiGroups = [], resources = []}) =>
      verbs.flatMap(verb => apiGroups.flatMap(group => resources.map(resource => `${verb} ${group} ${resource}`))),
    ),
  );
};

/**
 * Runs a controller on a server that notes which permissions it uses. `difference` returns those that its role lacks, and the
 * writes that it never used.
 */
export const withRole = async (
  t: ExecutionContext,
  controller: Controller,
  account: string,
  options: ServerOptions = {},
  flags: object = {},
) => {
  const used = new Set<string>();
  const authorizer: Authorizer = {
    authorize({user, verb, resource}) {
      if (user.name === 'system:serviceaccount:plat-system:own' && resource)
        used.add(`${verb} ${resource.group} ${resource.resource}${resource.subresource ? `/${resource.subresource}` : ''}`);
      return {decision: 'allow'};
    },
  };
  const at = await alone(t, [controller], flags, startServer({...options, authorizer}));
  return {
    ...at,
    difference() {
      const granted = grantsOf(account);
      return {
        lacking: [...used].filter(each => !granted.has(each)).sort(),
        unused: [...granted].filter(each => isCompared(each) && !used.has(each)).sort(),
      };
    },
  };
};
