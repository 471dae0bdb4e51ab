import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, mapped} from '#src/runtime/controller.js';
import {aggregating, aggregator} from './reconcile.js';

/**
 * Writes the rules of aggregated cluster roles, such as `admin`, `edit` and `view`. Selectors and labels decide which
 * roles a change concerns, so each change enqueues all aggregated roles: there are few.
 */
export default defineController({
  doc: 'Computes the rules of aggregated cluster roles from the roles that their selectors match.',
  name: 'clusterrole-aggregation-controller',
  serviceAccount: 'clusterrole-aggregation-controller',
  queue: {name: 'ClusterRoleAggregator'},
  workers: 5,
  reads: [kinds.clusterRoles],
  watches: [mapped(kinds.clusterRoles, (_, {lister}) => lister(kinds.clusterRoles).by(aggregating, '').map(keyOf))],
  create: aggregator,
});
