// The local addresses that take traffic to node ports.

import {formatIp, parseLooseIp, rangeHolds, type IpRange} from '#src/base/ip-address.js';
import {parseLooseRange, type IpFamily} from './ip-family.js';

const loopback: IpRange = {address: {family: 4, value: 127n << 24n}, bits: 8};

/** The ranges of the addresses of one family that take traffic to node ports. */
export class NodePortAddresses {
  readonly #ranges: readonly IpRange[];
  /** Whether every address of the family does. */
  readonly matchesAll: boolean;

  constructor(family: IpFamily, ranges: readonly string[]) {
    this.#ranges = ranges.flatMap(text => parseLooseRange(text) ?? []).filter(({address}) => `IPv${address.family}` === family);
    this.matchesAll = this.#ranges.length === 0 || this.#ranges.some(({bits}) => bits === 0);
    if (this.matchesAll) this.#ranges = [{address: {family: family === 'IPv4' ? 4 : 6, value: 0n}, bits: 0}];
  }

  /** Whether a range lies in that of the loopback, or holds it. */
  get holdsLoopback(): boolean {
    return this.#ranges.some(range => rangeHolds(loopback, range.address) || rangeHolds(range, loopback.address));
  }

  /** Returns those of a machine's addresses that do, each once and in their order. */
  of(addresses: readonly string[]): readonly string[] {
    const parsed = addresses.flatMap(text => parseLooseIp(text) ?? []);
    return [...new Set(parsed.filter(address => this.#ranges.some(range => rangeHolds(range, address))).map(formatIp))];
  }
}
