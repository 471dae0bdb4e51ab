// The parts of rules that depend on the family of addresses or on the settings.

import type {LocalDetection} from '#src/proxy/mode/settings.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';

/** The words of a family. */
export interface FamilyWords {
  /** The family of tables, and the protocol in rules. */
  readonly ip: 'ip' | 'ip6';
  /** The type of addresses in sets. */
  readonly address: 'ipv4_addr' | 'ipv6_addr';
  readonly notLoopback: string;
}

export const familyWords: Readonly<Record<IpFamily, FamilyWords>> = {
  IPv4: {ip: 'ip', address: 'ipv4_addr', notLoopback: 'ip daddr != 127.0.0.0/8'},
  IPv6: {ip: 'ip6', address: 'ipv6_addr', notLoopback: 'ip6 daddr != ::1'},
};

/** Rule parts that match the traffic of the node's pods, and all other traffic. */
export interface LocalTraffic {
  readonly isLocal: string;
  readonly isNotLocal: string;
}

/** Returns the rule parts of a detection; undefined if it detects nothing in the family. */
export const localTraffic = (detection: LocalDetection, family: IpFamily): LocalTraffic | undefined => {
  const matching = (what: string, value: string) => ({isLocal: `${what} ${value}`, isNotLocal: `${what} != ${value}`});
  switch (detection.by) {
    case 'ranges': {
      const range = detection.ranges[family];
      return range === undefined ? undefined : matching(`${familyWords[family].ip} saddr`, range);
    }
    case 'interface':
      return matching('iifname', `"${detection.name}"`);
    case 'interfacePrefix':
      return matching('iifname', `"${detection.prefix}*"`);
    case 'nothing':
      return undefined;
  }
};

/** The mark of packets to masquerade. */
export const markOf = (bit: number): string => `0x${(2 ** bit).toString(16).padStart(8, '0')}`;
