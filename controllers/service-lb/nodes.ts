import {keyOf, keyText} from '#src/api/key.js';
import {messageOf} from '#src/base/message.js';
import {ImplementedElsewhere, type CloudNode, type CloudService, type LoadBalancers} from '#src/runtime/cloud.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import type {BalancerMetrics} from './metrics.js';
import {isEligible, nodeNames, sameNodes, wantsLoadBalancer} from './policy.js';

/** A service with a load balancer, and the nodes that it was given last. */
export interface Balanced {
  readonly service: CloudService;
  nodes: readonly CloudNode[];
}

export interface NodeSyncParts {
  readonly context: KeyedContext<{readonly clusterName: string}>;
  readonly balancers: LoadBalancers;
  readonly known: ReadonlyMap<string, Balanced>;
  eligibleNodes(): CloudNode[];
}

/**
 * Gives all load balancers the nodes that are eligible now. One that cannot be changed is left to its service's loop.
 */
export const nodeSync = ({context, balancers, known, eligibleNodes}: NodeSyncParts, metrics: BalancerMetrics): Reconcile => {
  const {clock, events, naming, enqueue, options, log} = context;

  const isGone = async (service: CloudService): Promise<boolean> => {
    try {
      return (await balancers.get(options.clusterName, service)) === undefined;
    } catch (error) {
      log.error({err: error, service: keyOf(service)}, 'a load balancer could not be looked up');
      return false;
    }
  };

  const update = async (balanced: Balanced, nodes: readonly CloudNode[]): Promise<void> => {
    const {service, nodes: before} = balanced;
    if (
      sameNodes(
        before.filter(node => isEligible(node, naming)),
        nodes,
      )
    ) {
      balanced.nodes = nodes;
      return;
    }
    const begun = clock.monotonic();
    try {
      await balancers.update(options.clusterName, service, nodes);
      if (nodes.length > 0) events.normal(service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts');
      else events.warning(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer');
    } catch (error) {
      if (error instanceof ImplementedElsewhere || (await isGone(service))) return;
      const message = `Error updating load balancer with new hosts [${nodeNames(nodes)}]: ${messageOf(error)}`;
      events.warning(service, 'UpdateLoadBalancerFailed', message);
      metrics.nodeSyncFailed();
      enqueue(keyOf(service), {loop: 'service'});
    } finally {
      // Noted last: if the service's loop has given newer nodes meanwhile, this call may have overwritten them, and the
      // next pass is to repeat them.
      const latest = known.get(keyText(keyOf(service)));
      if (latest) latest.nodes = nodes;
      metrics.hostsUpdated((clock.monotonic() - begun) / 1000);
    }
  };

  return async () => {
    const begun = clock.monotonic();
    const nodes = eligibleNodes();
    const balanced = [...known.values()].filter(({service}) => wantsLoadBalancer(service));
    await Promise.all(balanced.map(each => update(each, nodes)));
    metrics.nodesSynced((clock.monotonic() - begun) / 1000);
    return settled;
  };
};
