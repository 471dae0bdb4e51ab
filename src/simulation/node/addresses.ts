import {formatIp, parseRange, rangeSize, rangeStart, type IpAddress} from '#src/base/ip-address.js';

/** The maximum number of used addresses of a range: no node has as many pods. */
const maxAddresses = 1 << 24;

const after = (start: IpAddress, index: number): string => formatIp({...start, value: start.value + BigInt(index)});

/** Returns the address at an index of a range. */
export const addressAt = (range: string, index: number): string => {
  const parsed = parseRange(range);
  if (!parsed || BigInt(index) >= rangeSize(parsed)) throw new Error(`the range ${range} has no address number ${index}`);
  return after(rangeStart(parsed), index);
};

/** Allocates the addresses of a range in order, and reuses released ones after wrapping around. */
export class AddressPool {
  readonly range: string;
  readonly #start: IpAddress | undefined;
  readonly #size: number;
  readonly #taken = new Set<string>();
  #next: number;

  constructor(range: string) {
    const parsed = parseRange(range);
    this.range = range;
    this.#start = parsed && rangeStart(parsed);
    // The network address, the gateway and the IPv4 broadcast address are not allocated.
    this.#size = parsed
      ? Number(rangeSize(parsed) < BigInt(maxAddresses) ? rangeSize(parsed) : BigInt(maxAddresses)) - (parsed.address.family === 4 ? 1 : 0)
      : 0;
    this.#next = firstIndex;
  }

  /** Returns a free address; undefined if there is none. */
  take(): string | undefined {
    if (!this.#start) return undefined;
    for (let attempts = this.#size - firstIndex; attempts > 0; attempts--) {
      const address = after(this.#start, this.#next);
      this.#next = this.#next + 1 < this.#size ? this.#next + 1 : firstIndex;
      if (this.claim(address)) return address;
    }
    return undefined;
  }

  /** Reserves an address; returns false if it is in use. */
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
