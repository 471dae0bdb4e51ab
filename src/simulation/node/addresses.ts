import {formatIp, parseRange, rangeSize, rangeStart} from '#src/base/ip-address.js';

/** At so many addresses a range is not looked through further: no node has so many pods. */
const maxAddresses = 1 << 24;

/** The address at a place in a range. */
export const addressAt = (range: string, index: number): string => {
  const parsed = parseRange(range);
  if (!parsed || BigInt(index) >= rangeSize(parsed)) throw new Error(`the range ${range} has no address number ${index}`);
  const start = rangeStart(parsed);
  return formatIp({...start, value: start.value + BigInt(index)});
};

/** Hands out the addresses of a range one after the other, and those given back once it is through. */
export class AddressPool {
  readonly range: string;
  readonly #size: number;
  readonly #taken = new Set<string>();
  #next: number;

  constructor(range: string) {
    const parsed = parseRange(range);
    this.range = range;
    // The network's own address, its gateway and, of IPv4, the one that means all are nobody's.
    this.#size = parsed ? Number(rangeSize(parsed) < BigInt(maxAddresses) ? rangeSize(parsed) : BigInt(maxAddresses)) - (parsed.address.family === 4 ? 1 : 0) : 0;
    this.#next = firstIndex;
  }

  /** An address that nobody has; undefined when there is none left. */
  take(): string | undefined {
    for (let attempts = this.#size - firstIndex; attempts > 0; attempts--) {
      const address = addressAt(this.range, this.#next);
      this.#next = this.#next + 1 < this.#size ? this.#next + 1 : firstIndex;
      if (this.claim(address)) return address;
    }
    return undefined;
  }

  /** Marks an address as taken; false if it is already. */
  claim(address: string): boolean {
    if (this.#taken.has(address)) return false;
    this.#taken.add(address);
    return true;
  }

  free(address: string): void {
    this.#taken.delete(address);
  }
}

const firstIndex = 2;
