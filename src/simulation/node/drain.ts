import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {isActive} from '#src/model/pod/state.js';
import type {SimulationContext} from './context.js';
import type {Agent} from './agent.js';

/** The delay before a refused eviction is retried. */
const retryMs = 5_000;

const isExemptFromDrain = (naming: Naming, pod: Frozen<Pod>): boolean =>
  !isActive(pod) ||
  pod.metadata?.annotations?.[naming.key('config.mirror')] !== undefined ||
  (pod.metadata?.ownerReferences ?? []).some(({kind, controller}) => controller && kind === kinds.daemonSets.kind);

/**
 * Cordons the node and evicts its pods, except those of daemon sets. Returns when to retry; Infinity once all are
 * evicted.
 */
export const drain = async (
  {naming}: SimulationContext,
  {machine: {name}, client}: Agent,
  node: Frozen<Node>,
  podsHere: readonly Frozen<Pod>[],
): Promise<number> => {
  if (!node.spec?.unschedulable) await client.resource(kinds.nodes).patch(name, 'merge', {spec: {unschedulable: true}});
  let refused = false;
  for (const pod of podsHere) {
    if (isExemptFromDrain(naming, pod)) continue;
    const {name: podName = '', namespace = ''} = pod.metadata ?? {};
    const eviction = {apiVersion: naming.apiVersion('policy', 'v1'), kind: kinds.evictions.kind, metadata: {name: podName, namespace}};
    try {
      await client.resource<KubeObject>(kinds.pods).create(eviction, {subresource: 'eviction'});
    } catch (error) {
      if (isNotFound(error)) continue;
      if (!(error instanceof StatusError) || error.code !== 429) throw error;
      refused = true;
    }
  }
  return refused ? retryMs : Infinity;
};
