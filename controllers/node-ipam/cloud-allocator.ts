import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {wireTime} from '#src/api/time.js';
import {formatRange, parseRange} from '#src/base/ip-address.js';
import {OptionError} from '#src/options/option-error.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {rangesOf, recordStatus, writeRanges} from './node-ranges.js';
import type {IpamOptions} from './plan.js';

/** The most ranges of a node: one of each IP family. */
const maxRanges = 2;

/** Returns the ranges in canonical form. Throws for one that is not in CIDR notation, and for two of one family. */
const parsedRanges = (texts: readonly string[]): readonly string[] => {
  const ranges = texts.slice(0, maxRanges).map(text => {
    const range = parseRange(text);
    if (!range) throw new Error(`failed to parse strings ${JSON.stringify(texts)} as CIDRs: invalid CIDR address: ${text}`);
    return range;
  });
  if (new Set(ranges.map(({address}) => address.family)).size < ranges.length)
    throw new Error(`err: IPs are not dual stack, CIDRS: ${JSON.stringify(texts)}`);
  return ranges.map(formatRange);
};

const hasRoute = ({status}: Frozen<Node>): boolean =>
  status?.conditions?.find(({type}) => type === 'NetworkUnavailable')?.status === 'False';

/**
 * Gives nodes the ranges that the cloud has for their pods, and reports their network as available: such a cloud routes
 * these ranges by itself.
 */
export const cloudAllocator = ({cloud, lister, client, clock, events, log, naming}: KeyedContext<IpamOptions>): Reconcile => {
  if (!cloud) throw new OptionError("--cidr-allocator-type is set to 'CloudAllocator' but cloud provider is not configured");
  const {name: provider, instances} = cloud.provider;
  if (!instances?.podRanges) throw new OptionError(`--cidr-allocator-type: cloudCIDRAllocator does not support ${provider} provider`);
  const nodes = lister(kinds.nodes);
  const unavailable = naming.subKey('node', 'network-unavailable');

  const rangesFor = async (node: Frozen<Node>): Promise<readonly string[]> => {
    let texts: readonly string[];
    try {
      texts = await instances.podRanges!(node);
    } catch (error) {
      recordStatus(events, node, 'CIDRNotAvailable');
      throw new Error(`failed to get cidr(s) from provider: ${(error as Error).message}`, {cause: error});
    }
    if (texts.length > 0) return parsedRanges(texts);
    recordStatus(events, node, 'CIDRNotAvailable');
    throw new Error(`failed to allocate cidr: Node ${node.metadata?.name} has no CIDRs`);
  };

  const reportRoute = async (name: string): Promise<void> => {
    const time = wireTime(clock.now());
    const condition = {
      type: 'NetworkUnavailable',
      status: 'False',
      reason: 'RouteCreated',
      message: 'NodeController create implicit route',
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    };
    await client.resource(kinds.nodes).patch(name, 'strategic', {status: {conditions: [condition]}}, {subresource: 'status'});
  };

  return async ({name}) => {
    const node = nodes.get(name);
    if (!node || node.metadata?.deletionTimestamp) return settled;
    const own = rangesOf(node);
    const isTainted = node.spec?.taints?.some(({key, effect}) => key === unavailable && effect === 'NoSchedule') ?? false;
    if (own.length > 0 && hasRoute(node) && !isTainted) return settled;
    const ranges = await rangesFor(node);
    if (!sameJson(own, ranges)) {
      if (own.length > 0) log.error({node: name, from: own, to: ranges}, 'the ranges of a node change at the cloud');
      try {
        await writeRanges(client, node, ranges);
      } catch (error) {
        recordStatus(events, node, 'CIDRAssignmentFailed');
        throw error;
      }
    }
    if (!hasRoute(node)) await reportRoute(name);
    return settled;
  };
};
