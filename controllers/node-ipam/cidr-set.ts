import {formatRange, parseRange, rangeSize, rangeStart, type IpRange} from '#src/base/ip-address.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import {rangesOverlap} from '#src/model/service-range.js';

/** The blocks of one size in a CIDR, and which are allocated. */
export interface CidrSet {
  /** The cluster CIDR. */
  readonly range: IpRange;
  /** The number of blocks. */
  readonly size: number;
  /** Allocates the next free block, wrapping around; undefined when there is none. */
  allocateNext(): string | undefined;
  /** Marks all blocks that overlap a CIDR as allocated. Throws when there are none. */
  occupy(cidr: string): void;
  /** Releases all blocks that overlap a CIDR. Throws when there are none. */
  release(cidr: string): void;
}

/** The largest difference of prefix lengths of an IPv6 CIDR and its blocks. */
const maxIpv6Bits = 16;

const width = {4: 32, 6: 128} as const;

/** A bit set that grows on demand. */
class BitSet {
  #bytes = new Uint8Array(32);

  has(index: number): boolean {
    return ((this.#bytes[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }

  /** Returns whether the bit changed. */
  set(index: number, on: boolean): boolean {
    if (this.has(index) === on) return false;
    if (index >> 3 >= this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, (index >> 3) + 1));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes[index >> 3]! ^= 1 << (index & 7);
    return true;
  }
}

const cidrSetMetrics = (meter: Meter) => {
  const subject = 'node_ipam_controller';
  const labels = ['clusterCIDR'];
  return {
    allocations: meter.counter({
      name: `${subject}_cidrset_cidrs_allocations_total`,
      help: 'Counter measuring total number of CIDR allocations.',
      labels,
    }),
    releases: meter.counter({
      name: `${subject}_cidrset_cidrs_releases_total`,
      help: 'Counter measuring total number of CIDR releases.',
      labels,
    }),
    // The misspelling is part of the published name.
    max: meter.gauge({name: `${subject}_cirdset_max_cidrs`, help: 'Maximum number of CIDRs that can be allocated.', labels}),
    usage: meter.gauge({name: `${subject}_cidrset_usage_cidrs`, help: 'Gauge measuring percentage of allocated CIDRs.', labels}),
    tries: meter.histogram({
      name: `${subject}_cidrset_allocation_tries_per_request`,
      help: 'Histogram measuring CIDR allocation tries per request.',
      labels,
      buckets: exponentialBuckets(1, 5, 5),
    }),
  };
};

/** Creates the set of blocks of `nodeBits` prefix length. Throws when that is impossible, or too many. */
export const cidrSet = (range: IpRange, nodeBits: number, meter: Meter): CidrSet => {
  const {
    address: {family},
    bits,
  } = range;
  const clusterCIDR = formatRange(range);
  if (nodeBits < bits || nodeBits > width[family]) throw new RangeError(`a range of /${bits} cannot be cut into blocks of /${nodeBits}`);
  if (family === 6 && nodeBits - bits > maxIpv6Bits) throw new RangeError('New CIDR set failed; the node CIDR size is too big');
  const size = 2 ** (nodeBits - bits);
  const first = rangeStart(range).value;
  const blockSize = 1n << BigInt(width[family] - nodeBits);
  const taken = new BitSet();
  const {allocations, releases, max, usage, tries: attempts} = cidrSetMetrics(meter);
  const of = {clusterCIDR};
  let next = 0;
  let count = 0;
  max.set(size, of);

  const blockAt = (index: number): string => formatRange({address: {family, value: first + BigInt(index) * blockSize}, bits: nodeBits});

  const blocksOf = (cidr: string): readonly [from: number, to: number] => {
    const touched = parseRange(cidr);
    if (!touched) throw new Error(`${JSON.stringify(cidr)} is no CIDR`);
    if (!rangesOverlap(touched, range)) throw new Error(`cidr ${cidr} is out the range of cluster cidr ${clusterCIDR}`);
    if (touched.bits <= bits) return [0, size - 1];
    const begin = rangeStart(touched).value;
    const blockOf = (value: bigint): number => Number((value - first) / blockSize);
    return [blockOf(begin), blockOf(begin + rangeSize(touched) - 1n)];
  };

  const mark = (cidr: string, on: boolean): void => {
    const [from, to] = blocksOf(cidr);
    let changed = 0;
    for (let index = from; index <= to; index++) if (taken.set(index, on)) changed++;
    if (changed === 0) return;
    count += on ? changed : -changed;
    (on ? allocations : releases).add(of, changed);
    usage.set(count / size, of);
  };

  return {
    range,
    size,
    allocateNext() {
      if (count >= size) return undefined;
      let looked = 1;
      while (taken.has(next)) {
        next = (next + 1) % size;
        looked++;
      }
      const block = blockAt(next);
      next = (next + 1) % size;
      mark(block, true);
      attempts.observe(looked, of);
      return block;
    },
    occupy: cidr => mark(cidr, true),
    release: cidr => mark(cidr, false),
  };
};
