import {changeTaints, hasTaint} from '#controllers/shared/node-taints.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {Yielder} from '#src/base/turn.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {NotImplemented, type Instances} from '#src/runtime/cloud.js';
import {settled, type Attempt, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

export type CloudLifecycleOptions = Pick<ControllerManagerOptions, 'nodeMonitorPeriod'>;

/** How long a new node may lack a provider ID. */
const graceMs = 60_000;

/** One pass over all nodes. What fails for one node is logged and met again at the next pass. */
export const lifecycle = (context: KeyedContext<CloudLifecycleOptions>): Reconcile => {
  const {lister, writer, client, clock, random, events, naming, cloud, log} = context;
  const instances = cloud?.provider.instances;
  if (!instances) {
    log.warn({provider: cloud?.provider.name}, 'the cloud provider has no instances');
    return () => Promise.resolve(settled);
  }
  const cached = lister(kinds.nodes);
  const nodes = writer(kinds.nodes);
  const pieces = new Yielder(clock);
  const shutdown = {key: naming.subKey('node.cloudprovider', 'shutdown'), effect: 'NoSchedule'};
  const uninitialized = naming.subKey('node.cloudprovider', 'uninitialized');

  const isStarting = ({metadata, spec}: Frozen<Node>): boolean =>
    !spec?.providerID &&
    (spec?.taints ?? []).some(({key}) => key === uninitialized) &&
    clock.now() - (parseTime(metadata?.creationTimestamp) ?? 0) < graceMs;

  const remove = async (node: Frozen<Node>, signal: AbortSignal): Promise<void> => {
    const name = node.metadata?.name ?? '';
    events.normal(node, 'DeletingNode', `Deleting node ${name} because it does not exist in the cloud provider`);
    try {
      await unlessMissing(nodes.delete(node, {onlyIf: 'named', signal}));
    } catch (error) {
      events.warning(node, 'DeletingNodeFailed', messageOf(error));
      throw error;
    }
  };

  const syncNode = async (node: Frozen<Node>, {signal, pause}: Attempt): Promise<void> => {
    const taintParts = {client, clock, random, signal, pause};
    if (isReadyNode(node)) {
      if (hasTaint(node, shutdown)) await changeTaints(taintParts, node, {remove: [shutdown]});
      return;
    }
    if (isStarting(node)) return;
    if (!(await instances.exists(node))) return remove(node, signal);
    if (await isShutDown(instances, node)) await changeTaints(taintParts, node, {add: [shutdown]});
  };

  return async (_, attempt) => {
    for (const node of cached.list()) {
      const pause = pieces.pause();
      if (pause) await pause;
      if (attempt.signal.aborted) break;
      await syncNode(node, attempt).catch((error: unknown) =>
        attempt.log.error({node: node.metadata?.name, err: error}, 'the machine of a node could not be checked'),
      );
    }
    return settled;
  };
};

/** Whether a node's machine is shut down; one of which the cloud does not know is not. */
const isShutDown = async (instances: Instances, node: Frozen<Node>): Promise<boolean> => {
  try {
    return await instances.isShutDown(node);
  } catch (error) {
    if (error instanceof NotImplemented) return false;
    throw error;
  }
};
