import type {Index} from '#informers/lister.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {ClusterRole} from '#src/api/types.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {aggregatedRules, sameRules} from './policy.js';

/** Indexes the roles with an aggregation rule, all under the empty value. */
export const aggregating: Index<ClusterRole> = {name: 'aggregating', values: ({aggregationRule}) => (aggregationRule ? [''] : [])};

/** Applies the aggregated rules to a role. Roles that aggregate aggregated roles converge by the changes this makes. */
export const aggregator = ({name: fieldManager, lister, client, clock}: KeyedContext): Reconcile => {
  const roles = lister(kinds.clusterRoles);
  const pieces = new Yielder(clock);
  const apiVersion = apiVersionOf(client.naming, kinds.clusterRoles);

  return async ({name}) => {
    const role = roles.get(name);
    if (!role?.aggregationRule) return settled;
    const rules = await runStepsYielding(aggregatedRules(role, roles.list()), pieces);
    if (await runStepsYielding(sameRules(rules, role.rules ?? []), pieces)) return settled;
    await client
      .resource(kinds.clusterRoles)
      .patch(name, 'apply', {apiVersion, kind: kinds.clusterRoles.kind, metadata: {name}, rules}, {fieldManager, force: true});
    return settled;
  };
};
