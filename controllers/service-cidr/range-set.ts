import {rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {isServiceAddress} from '#src/model/service-range.js';

/** Ranges of one family and prefix length, by first address. */
interface PrefixLength {
  readonly family: 4 | 6;
  readonly bits: number;
  readonly ranges: Map<bigint, IpRange>;
}

/** A set of ranges with an efficient lookup by address. */
export class RangeSet {
  readonly #byLength = new Map<string, PrefixLength>();

  add(range: IpRange): void {
    const {
      bits,
      address: {family},
    } = range;
    const key = `${family}/${bits}`;
    const row = this.#byLength.get(key) ?? {family, bits, ranges: new Map<bigint, IpRange>()};
    this.#byLength.set(key, row);
    row.ranges.set(rangeStart(range).value, range);
  }

  /** Whether any range serves the address. */
  serves(address: IpAddress): boolean {
    return this.#around(address).some(range => isServiceAddress(range, address));
  }

  /** Whether the range is contained in one of these. */
  surrounds({address, bits}: IpRange): boolean {
    return this.#around(address).some(outer => outer.bits <= bits);
  }

  #around(address: IpAddress): IpRange[] {
    const found: IpRange[] = [];
    for (const {family, bits, ranges} of this.#byLength.values()) {
      const range = family === address.family ? ranges.get(rangeStart({address, bits}).value) : undefined;
      if (range) found.push(range);
    }
    return found;
  }
}
