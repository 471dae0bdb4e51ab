import {createHash} from 'node:crypto';
import {formatIp, parseLooseIp, rangeHolds, rangeSize, rangeStart, type IpRange} from '#src/base/ip-address.js';
import type {CloudService} from '#src/runtime/cloud.js';

/**
 * The offset of an address that a service gets first, the same each time. The first and last addresses of a range are
 * left out where it has others.
 */
const offsetOf = ({metadata}: CloudService, size: bigint): bigint => {
  const digest = createHash('sha256').update(`${metadata?.namespace}/${metadata?.name}`).digest();
  return digest.readBigUInt64BE(0) % size;
};

const freeAddress = (service: CloudService, range: IpRange, used: ReadonlySet<string>): string => {
  const start = rangeStart(range);
  const whole = rangeSize(range);
  const [skipped, size] = whole > 2n ? [1n, whole - 2n] : [0n, whole];
  const first = offsetOf(service, size);
  const tries = size < BigInt(used.size + 1) ? size : BigInt(used.size + 1);
  for (let i = 0n; i < tries; i++) {
    const ip = formatIp({...start, value: start.value + skipped + ((first + i) % size)});
    if (!used.has(ip)) return ip;
  }
  throw new Error('the simulated cloud has no free address for a load balancer');
};

const requestedAddress = (requested: string, ranges: readonly IpRange[], used: ReadonlySet<string>): string => {
  const address = parseLooseIp(requested);
  if (!address || !ranges.some(range => rangeHolds(range, address)))
    throw new Error(`the address ${requested} is not one of the simulated cloud`);
  const ip = formatIp(address);
  if (used.has(ip)) throw new Error(`the address ${ip} is in use`);
  return ip;
};

/**
 * Returns the addresses of a service's load balancer: the one that it requests, or one for each of its IP families that
 * the cloud has: its present one, or one that no other uses.
 */
export const addressesFor = (
  service: CloudService,
  ranges: readonly IpRange[],
  {used: taken, present}: {readonly used: readonly string[]; readonly present: readonly string[]},
): string[] => {
  const used = new Set(taken);
  const {loadBalancerIP, ipFamilies = ['IPv4']} = service.spec ?? {};
  if (loadBalancerIP) return [requestedAddress(loadBalancerIP, ranges, used)];
  const wanted = ipFamilies.flatMap(family => ranges.find(({address}) => `IPv${address.family}` === family) ?? []);
  if (wanted.length === 0) throw new Error(`the simulated cloud has no addresses of the family ${ipFamilies.join(' or ')}`);
  const kept = (range: IpRange) => present.find(ip => !used.has(ip) && rangeHolds(range, parseLooseIp(ip)!));
  return wanted.map(range => kept(range) ?? freeAddress(service, range, used));
};
