import {kinds} from '#src/api/kinds/index.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import type {RouteOptions} from './policy.js';
import {nodeRoutes} from './run.js';

/**
 * Keeps the routes of the cloud's network to the pods of each node, and reports on each node whether its routes exist.
 */
export default defineLongRunning<RouteOptions>({
  doc: "Keeps the routes of the cloud's network to the pods of each node.",
  name: 'node-route-controller',
  serviceAccount: 'route-controller',
  eventSource: 'route_controller',
  flags: ['route-reconciliation-period', 'allocate-node-cidrs', 'configure-cloud-routes', 'cluster-cidr', 'cluster-name'],
  enabled: ({allocateNodeCidrs, configureCloudRoutes}) =>
    (allocateNodeCidrs && configureCloudRoutes) || 'routes need --allocate-node-cidrs and --configure-cloud-routes',
  reads: [kinds.nodes],
  create: nodeRoutes,
});
