// Pods reach the API server at an address of this machine, not at a loopback one. A plane with a node on its own
// machine therefore listens there too, for this machine and its pods alone.

import {networkInterfaces, type NetworkInterfaceInfo} from 'node:os';
import type {Clock} from '#src/base/clock.js';
import {parseIp, parseLooseIp, parseRange, rangeHolds, unmapped, type IpRange} from '#src/base/ip-address.js';
import {bridgeLookup} from './bridges.js';

/** An address at which pods reach a server that listens at a loopback address, and the peers that it serves there. */
export interface PodAccess {
  readonly host: string;
  accepts(remoteAddress: string): boolean;
}

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, 'address' | 'cidr'>[] | undefined>>;

/** What of a machine says which peers are its own. */
export interface PeerSources {
  interfaces(): Interfaces;
  /** Whether an interface is a bridge: pods and other containers of the machine are behind it. */
  isBridge(name: string): boolean;
}

/** Returns whether a peer is this machine, or in a range of pods, or behind a bridge of this machine. */
export const isLocalPeer = (remoteAddress: string, ranges: readonly IpRange[], {interfaces, isBridge}: PeerSources): boolean => {
  const parsed = parseLooseIp(remoteAddress);
  if (!parsed) return false;
  const peer = unmapped(parsed);
  if (ranges.some(range => rangeHolds(range, peer))) return true;
  return Object.entries(interfaces()).some(([name, addresses = []]) =>
    addresses.some(({address, cidr}) => {
      const own = parseIp(address);
      if (own?.family === peer.family && own.value === peer.value) return true;
      const subnet = cidr ? parseRange(cidr) : null;
      return Boolean(subnet && rangeHolds(subnet, peer) && isBridge(name));
    }),
  );
};

/** Returns the access of pods at an address of this machine. `podRanges` are the ranges of addresses of pods. */
export const podAccessAt = (host: string, podRanges: readonly string[], clock: Pick<Clock, 'monotonic'>): PodAccess => {
  const sources: PeerSources = {interfaces: networkInterfaces, isBridge: bridgeLookup(clock)};
  const ranges = podRanges.flatMap(text => parseRange(text) ?? []);
  return {host, accepts: remoteAddress => isLocalPeer(remoteAddress, ranges, sources)};
};
