import {kinds} from '#src/api/kinds/index.js';
import {defineController, every, forLoop} from '#src/runtime/controller.js';
import {keyOf} from '#src/api/key.js';
import {balancing, type BalancingOptions} from './reconcile.js';
import {needsCleanup} from './policy.js';

/**
 * Creates, changes and deletes load balancers of the cloud for services of type LoadBalancer, and keeps their nodes up
 * to date.
 */
export default defineController<BalancingOptions>({
  doc: 'Creates and deletes load balancers of the cloud for services of type LoadBalancer, and keeps their nodes up to date.',
  name: 'service-lb-controller',
  serviceAccount: 'service-controller',
  eventSource: 'service-controller',
  configuration: {ServiceController: {ConcurrentServiceSyncs: 'concurrent-service-syncs'}},
  flags: ['cluster-name'],
  // No bucket is shared: a cloud that refuses one service must not hold up the others.
  queue: {baseDelayMs: 5_000, maxDelayMs: 300_000, unshared: true},
  reads: [kinds.services, kinds.nodes],
  watches: [
    forLoop(
      'service',
      every('30s', ({lister, naming}) =>
        lister(kinds.services)
          .list()
          .filter(service => needsCleanup(service, naming))
          .map(service => keyOf(service)),
      ),
    ),
  ],
  create: balancing,
});
