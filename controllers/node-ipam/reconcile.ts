import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound, StatusError} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {OptionError} from '#src/options/option-error.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {allocator, type Allocator} from './allocator.js';
import {cloudAllocator} from './cloud-allocator.js';
import {rangesOf, recordStatus, writeRanges} from './node-ranges.js';
import {cidrSets, type IpamOptions} from './plan.js';

/** How often, and how many times, the nodes are requested at the start. */
const pollMs = 10_000;
const maxPolls = 60;

/** Whether the server rejected a write, so that it has no effect. A timeout or a broken connection leaves that open. */
const wasRefused = (error: unknown): boolean => error instanceof StatusError && error.code !== 504 && error.code < 500;

const allNodes = async ({client, clock, signal, log}: KeyedContext<IpamOptions>): Promise<readonly Node[]> => {
  for (let left = maxPolls; ; left--) {
    try {
      return (await client.resource(kinds.nodes).list({signal})).items;
    } catch (error) {
      if (left <= 0 || signal.aborted) throw error;
      log.error({err: error}, 'the nodes that are there cannot be listed');
      await sleep(clock, pollMs, signal);
    }
  }
};

/**
 * Records the existing allocations: so a restart knows what is free, and CIDRs that do not match the options are found.
 */
const occupyExisting = (allocations: Allocator, nodes: readonly Node[]): void => {
  for (const node of nodes) {
    const name = node.metadata?.name ?? '';
    try {
      allocations.occupy(name, rangesOf(node));
    } catch (error) {
      throw new OptionError(`--cluster-cidr: the range of node ${name} does not fit: ${(error as Error).message}`, {cause: error});
    }
  }
};

/** Allocates CIDRs to every node, and releases them when the node is deleted. */
export const nodeIpamReconciler = async (context: KeyedContext<IpamOptions>): Promise<Reconcile> => {
  const {lister, listen, client, events, log, meter, options} = context;
  if (options.cidrAllocatorType === 'CloudAllocator') return cloudAllocator(context);
  const nodes = lister(kinds.nodes);
  const allocations = allocator(cidrSets(options, {log, meter}));
  occupyExisting(allocations, await allNodes(context));
  // Before the key of a recreated node of the same name is reconciled.
  listen(kinds.nodes, ({type, object}) => {
    if (type === 'deleted') allocations.release(object.metadata?.name ?? '');
  });

  const allocateRanges = async (node: Frozen<Node>): Promise<void> => {
    const {name = '', uid} = node.metadata ?? {};
    const proposed = allocations.propose(name);
    if (!proposed) {
      recordStatus(events, node, 'CIDRNotAvailable');
      throw new Error(
        'failed to allocate cidr from cluster cidr: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range',
      );
    }
    try {
      await writeRanges(client, node, proposed);
    } catch (error) {
      // The cache may be stale: an earlier attempt or another client may have set CIDRs, or the node was recreated.
      const live = await client
        .resource(kinds.nodes)
        .get(name)
        .catch((problem: unknown) => (isNotFound(problem) ? undefined : node));
      const own = live && rangesOf(live);
      if (own?.length && sameJson(own, proposed)) return;
      if (own?.length) return allocations.occupy(name, own);
      if (live?.metadata?.uid !== uid) return allocations.release(name);
      recordStatus(events, node, 'CIDRAssignmentFailed');
      if (wasRefused(error)) allocations.release(name);
      throw error;
    }
  };

  return async ({name}) => {
    const node = nodes.get(name);
    if (!node) return settled;
    if (node.metadata?.deletionTimestamp) allocations.release(name);
    else if (rangesOf(node).length > 0) allocations.occupy(name, rangesOf(node));
    else await allocateRanges(node);
    return settled;
  };
};
