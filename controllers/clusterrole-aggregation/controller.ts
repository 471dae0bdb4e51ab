import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {defineController, mapped} from '#src/runtime/controller.js';
import {aggregating, aggregator} from './reconcile.js';

/**
 * Fills the roles that are made of others: `admin`, `edit`, `view`, and whatever custom resources bring along. Which role a change concerns is told by
 * labels on either side, so each change asks for all of them; there are few.
 */
export default defineController({
  doc: 'Keeps the rules of cluster roles that gather those of others by label.',
  name: 'clusterrole-aggregation-controller',
  serviceAccount: 'clusterrole-aggregation-controller',
  queue: {name: 'ClusterRoleAggregator'},
  workers: 5,
  reads: [kinds.clusterRoles],
  watches: [mapped(kinds.clusterRoles, (_, {lister}) => lister(kinds.clusterRoles).by(aggregating, '').map(keyOf))],
  create: aggregator,
});
