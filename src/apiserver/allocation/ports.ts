import type {KubeObject} from '#src/api/types.js';
import {PoolError, type PortPool} from '#src/resources/pools.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import type {RegistrySettings} from '#src/apiserver/registry/settings.js';
import {KeyExists, RevisionMismatch} from '#src/storage/errors.js';
import {portMetrics, type PortMetrics, type Scope} from './allocation-metrics.js';

/** Both ends are included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

type PortSettings = Pick<RegistrySettings, 'store' | 'prefix' | 'naming' | 'random' | 'meter'>;

/** The stored form of the pool: core/v1 RangeAllocation, whose data is a big-endian bit map. */
interface RangeAllocation extends KubeObject {
  range: string;
  /** Absent while no port is assigned: the binary form does not distinguish empty bytes from absent ones. */
  data?: string;
}

/** The lowest ports are kept for static assignment while others are free (KEP-3668). */
const reservedShare = 32;
const [leastReserved, mostReserved] = [16, 128];

const reservedOf = (size: number): number =>
  size <= leastReserved ? 0 : Math.min(Math.max(Math.floor(size / reservedShare), leastReserved), mostReserved);

const bitsOf = (data = ''): bigint => {
  const hex = Buffer.from(data, 'base64').toString('hex');
  return hex ? BigInt(`0x${hex}`) : 0n;
};

/** Big-endian, without leading zeros. */
const bytesOf = (bits: bigint): Buffer => {
  const hex = bits.toString(16);
  return bits === 0n ? Buffer.alloc(0) : Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
};

const dataOf = (bits: bigint): string => bytesOf(bits).toString('base64');

/** Returns the positions of the set bits, lowest first. Optimized for mostly empty bytes, since it runs regularly. */
const placesOf = (bits: bigint): number[] => {
  const bytes = bytesOf(bits).toReversed();
  const places: number[] = [];
  for (const [index, byte] of bytes.entries()) {
    for (let bit = 0; byte >> bit > 0; bit++) if ((byte >> bit) & 1) places.push(index * 8 + bit);
  }
  return places;
};

const has = (bits: bigint, place: number): boolean => ((bits >> BigInt(place)) & 1n) === 1n;

/** The node ports, in one record that all servers share. */
export class NodePorts implements PortPool {
  readonly #settings: PortSettings;
  readonly #range: PortRange;
  readonly #key: string;
  readonly #metrics: PortMetrics;

  constructor(settings: PortSettings, range: PortRange) {
    this.#settings = settings;
    this.#range = range;
    this.#metrics = portMetrics(settings.meter, `${settings.naming.prefix}_apiserver`);
    this.#key = `${settings.prefix}/ranges/servicenodeports`;
  }

  async take(port: number): Promise<void> {
    const {from, to} = this.#range;
    await this.#counted('static', async () => {
      if (port < from || port > to)
        throw new PoolError(`provided port is not in the valid range. The range of valid ports is ${this.#text}`);
      await this.#change(bits => {
        if (has(bits, port - from)) throw new PoolError('provided port is already allocated');
        return bits | (1n << BigInt(port - from));
      });
    });
  }

  async takeAny(): Promise<number> {
    let taken = 0;
    await this.#counted('dynamic', () =>
      this.#change(bits => {
        taken = this.#free(bits);
        return bits | (1n << BigInt(taken));
      }),
    );
    return this.#range.from + taken;
  }

  async release(ports: readonly number[]): Promise<void> {
    const {from, to} = this.#range;
    const places = ports.filter(port => port >= from && port <= to).map(port => BigInt(port - from));
    if (places.length > 0) await this.#change(bits => places.reduce((left, place) => left & ~(1n << place), bits));
  }

  async isTaken(port: number): Promise<boolean> {
    return (await this.taken()).includes(port);
  }

  async taken(): Promise<readonly number[]> {
    const record = await this.#settings.store.get(this.#key);
    const bits = record ? this.#bits(record.value, record.revision) : 0n;
    const {from, to} = this.#range;
    return placesOf(bits)
      .map(place => from + place)
      .filter(port => port <= to);
  }

  async #counted(scope: Scope, allocate: () => Promise<void>): Promise<void> {
    try {
      await allocate();
      this.#metrics.counts.allocated(scope);
    } catch (error) {
      this.#metrics.counts.failed(scope);
      throw error;
    }
  }

  /** Shows how many ports are taken by the record that was written. */
  #show(bits: bigint): void {
    const allocated = placesOf(bits).length;
    this.#metrics.allocated.set(allocated);
    this.#metrics.available.set(this.#range.to - this.#range.from + 1 - allocated);
  }

  get #text(): string {
    return `${this.#range.from}-${this.#range.to}`;
  }

  #free(bits: bigint): number {
    const size = this.#range.to - this.#range.from + 1;
    const reserved = reservedOf(size);
    for (const [from, count] of [
      [reserved, size - reserved],
      [0, reserved],
    ] as const) {
      const start = Math.floor(this.#settings.random.float() * count);
      for (let i = 0; i < count; i++) {
        const place = from + ((start + i) % count);
        if (!has(bits, place)) return place;
      }
    }
    throw new PoolError('range is full');
  }

  #bits(value: Buffer, revision: number): bigint {
    const {range, data} = recordObject<RangeAllocation>(value, revision);
    // A server started with another range begins with an empty map; the repair loop fills it from the services.
    return range === this.#text ? bitsOf(data) : 0n;
  }

  async #change(change: (bits: bigint) => bigint): Promise<void> {
    const {store} = this.#settings;
    for (;;) {
      const record = await store.get(this.#key);
      const before = record ? this.#bits(record.value, record.revision) : 0n;
      const after = change(before);
      if (record && after === before) return;
      const allocation: RangeAllocation = {apiVersion: 'v1', kind: 'RangeAllocation', metadata: {}, range: this.#text, data: dataOf(after)};
      try {
        await (record
          ? store.update(this.#key, encodeRecord(allocation), record.revision)
          : store.create(this.#key, encodeRecord(allocation)));
        this.#show(after);
        return;
      } catch (error) {
        if (!(error instanceof RevisionMismatch || error instanceof KeyExists)) throw error;
      }
    }
  }
}
