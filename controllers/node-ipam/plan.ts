import {formatRange, parseRange, type IpRange} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {OptionError} from '#src/options/option-error.js';
import {rangesOverlap} from '#src/model/service-range.js';
import {cidrSet, type CidrSet} from './cidr-set.js';

/** The options that the controller reads. */
export type IpamOptions = Pick<
  ControllerManagerOptions,
  | 'allocateNodeCidrs'
  | 'clusterCidr'
  | 'serviceClusterIpRange'
  | 'cidrAllocatorType'
  | 'nodeCidrMaskSize'
  | 'nodeCidrMaskSizeIpv4'
  | 'nodeCidrMaskSizeIpv6'
>;

/** Returns the prefix length of nodes' CIDRs of a family. The common option applies only with a single cluster CIDR. */
const nodeBits = (
  {address: {family}}: IpRange,
  {clusterCidr, nodeCidrMaskSize, nodeCidrMaskSizeIpv4, nodeCidrMaskSizeIpv6}: IpamOptions,
): number => (clusterCidr.length === 1 && nodeCidrMaskSize) || (family === 4 ? nodeCidrMaskSizeIpv4 : nodeCidrMaskSizeIpv6);

const setOf = (cidr: string, options: IpamOptions, meter: Meter): CidrSet => {
  const range = parseRange(cidr);
  if (!range) throw new OptionError(`--cluster-cidr: ${cidr} is no CIDR`);
  const bits = nodeBits(range, options);
  try {
    return cidrSet(range, bits, meter);
  } catch (error) {
    if (bits < range.bits) {
      throw new OptionError(
        '--cluster-cidr: mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size configured for CIDR family',
        {cause: error},
      );
    }
    throw new OptionError(`--cluster-cidr: ${cidr}: ${(error as Error).message}`, {cause: error});
  }
};

/** Creates the sets of the cluster CIDRs, in order, with the service CIDRs excluded. Throws for invalid options. */
export const cidrSets = (options: IpamOptions, {log, meter}: {readonly log: Log; readonly meter: Meter}): CidrSet[] => {
  const sets = options.clusterCidr.map(cidr => setOf(cidr, options, meter));
  for (const text of options.serviceClusterIpRange) {
    const range = parseRange(text);
    if (!range) {
      log.warn({range: text}, 'a range of service addresses cannot be read and is not kept from nodes');
      continue;
    }
    for (const set of sets) if (rangesOverlap(set.range, range)) set.occupy(formatRange(range));
  }
  return sets;
};
