import type {KubeObject} from '#src/api/types.js';
import {endOfPrefix} from '#src/storage/store.js';
import {removeRecord, renewRecord} from './leased-records.js';
import {encodeRecord} from './record.js';
import type {RegistrySettings} from './settings.js';

/** How long a server counts as alive after its last renewal. */
const peerTtlSeconds = 15;

/** Returns the peers of a server that does not share its store, which need not be stored. */
export const inMemoryPeers = () => {
  const addresses = new Set<string>();
  return {
    async renew(address: string): Promise<void> {
      addresses.add(address);
    },
    async remove(address: string): Promise<void> {
      addresses.delete(address);
    },
    list: async (): Promise<string[]> => [...addresses].sort(),
  };
};

/** The addresses of the servers that share a store. Each server renews its own under a lease. */
export class Peers {
  readonly #settings: Pick<RegistrySettings, 'store' | 'prefix'>;

  constructor(settings: Pick<RegistrySettings, 'store' | 'prefix'>) {
    this.#settings = settings;
  }

  /** Renews the lease of an address. */
  async renew(address: string): Promise<void> {
    const {store} = this.#settings;
    const key = this.#root + address;
    const value = encodeRecord({apiVersion: 'v1', kind: 'Endpoints', metadata: {}, subsets: [{addresses: [{ip: address}]}]} as KubeObject);
    await renewRecord(store, key, value, peerTtlSeconds);
  }

  /** Removes an address whose server stops. */
  async remove(address: string): Promise<void> {
    await removeRecord(this.#settings.store, this.#root + address);
  }

  /** Returns the addresses whose leases have not expired, in order. */
  async list(): Promise<string[]> {
    const {records} = await this.#settings.store.range({start: this.#root, end: endOfPrefix(this.#root)});
    return records.map(({key}) => key.slice(this.#root.length)).sort();
  }

  get #root(): string {
    return `${this.#settings.prefix}/masterleases/`;
  }
}
