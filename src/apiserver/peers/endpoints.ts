import type {KubeObject} from '#src/api/types.js';
import {removeRecord, renewRecord} from '#src/apiserver/registry/leased-records.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import type {Store} from '#src/storage/store.js';

/** The address at which a server takes the requests of its peers. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** How long an address counts after its last renewal. */
const ttlSeconds = 15;

interface Endpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly {readonly ip?: string}[];
    readonly ports?: readonly {readonly port?: number}[];
  }[];
}

/**
 * The addresses of the servers that share a store, by their identities. Each server renews its own under a lease
 * (KEP-4020).
 */
export class PeerEndpoints {
  readonly #store: Store;
  readonly #root: string;

  constructor({store, prefix}: {readonly store: Store; readonly prefix: string}) {
    this.#store = store;
    this.#root = `${prefix}/peerserverleases/`;
  }

  async renew(id: string, {host, port}: PeerAddress): Promise<void> {
    const object = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {labels: {apiserverIdentity: id}},
      subsets: [{addresses: [{ip: host}], ports: [{name: 'https', port, protocol: 'TCP'}]}],
    };
    await renewRecord(this.#store, this.#root + id, encodeRecord(object as KubeObject), ttlSeconds);
  }

  /** Removes the address of a server that stops. */
  remove(id: string): Promise<void> {
    return removeRecord(this.#store, this.#root + id);
  }

  /** Returns the address of a server; undefined if it was not renewed in time. */
  async get(id: string): Promise<PeerAddress | undefined> {
    const record = await this.#store.get(this.#root + id);
    if (!record) return undefined;
    const {subsets: [subset] = []} = recordObject<Endpoints>(record.value, record.revision);
    const [host, port] = [subset?.addresses?.[0]?.ip, subset?.ports?.[0]?.port];
    return host && port ? {host, port} : undefined;
  }
}
