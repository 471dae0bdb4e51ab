import type {KubeObject} from '#src/api/types.js';
import {KeyExists, RevisionMismatch} from '#src/storage/errors.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import {encodeRecord} from './record.js';
import type {RegistrySettings} from './registry.js';

/** How long a server counts as alive after it last said so. */
const lifeSeconds = 15;

/** A server that has its store to itself has no peers, and need not write down that it lives. */
export const alone = () => {
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

/** The servers that share a store, by the addresses they are reached at. Each says again and again that it lives. */
export class Peers {
  readonly #settings: Pick<RegistrySettings, 'store' | 'prefix'>;

  constructor(settings: Pick<RegistrySettings, 'store' | 'prefix'>) {
    this.#settings = settings;
  }

  /** Says that the server at the address lives. */
  async renew(address: string): Promise<void> {
    const {store} = this.#settings;
    const key = this.#root + address;
    const value = encodeRecord({apiVersion: 'v1', kind: 'Endpoints', metadata: {}, subsets: [{addresses: [{ip: address}]}]} as KubeObject);
    const lease = await store.lease(lifeSeconds);
    await this.#change(key, async record => {
      await (record ? store.update(key, value, record.revision, {lease}) : store.create(key, value, {lease}));
    });
  }

  /** Says that the server at the address is gone. */
  async remove(address: string): Promise<void> {
    const {store} = this.#settings;
    await this.#change(this.#root + address, async record => {
      if (record) await store.delete(record.key, record.revision);
    });
  }

  /** The addresses of those that live, in order. */
  async list(): Promise<string[]> {
    const {records} = await this.#settings.store.range({start: this.#root, end: endOfPrefix(this.#root)});
    return records.map(({key}) => key.slice(this.#root.length)).sort();
  }

  /** Writes on the strength of what there is; once more when it ran out, or a server with the same address wrote it, in between. */
  async #change(key: string, write: (record: StoredRecord | undefined) => Promise<void>): Promise<void> {
    const {store} = this.#settings;
    for (;;) {
      try {
        return await write(await store.get(key));
      } catch (error) {
        if (!(error instanceof KeyExists || error instanceof RevisionMismatch)) throw error;
      }
    }
  }

  get #root(): string {
    return `${this.#settings.prefix}/masterleases/`;
  }
}
