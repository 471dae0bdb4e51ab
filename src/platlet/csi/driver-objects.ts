// What a node reads from the API server for the volumes of CSI drivers.

import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import type {PodTokens} from '#src/platlet/volumes/tokens.js';
import type {CsiDriver, SecretReference} from './volume.js';

export interface DriverObjectsParts {
  readonly client: Client;
  /** The CSIDriver objects; undefined for an agent without an API server. */
  readonly drivers: Pick<SharedInformer<CsiDriver>, 'lister' | 'whenSynced'> | undefined;
  readonly tokens: Pick<PodTokens, 'grant'>;
  readonly signal: AbortSignal;
}

const defaultTokenSeconds = 3600;

/** The CSIDriver objects, secrets and tokens that volumes need. */
export class DriverObjects {
  readonly #parts: DriverObjectsParts;

  constructor(parts: DriverObjectsParts) {
    this.#parts = parts;
  }

  /** Returns the object of a driver; undefined if it has none. Waits for the first list. */
  async driver(name: string): Promise<Frozen<CsiDriver> | undefined> {
    const {client, drivers, signal} = this.#parts;
    if (!drivers) throw new Error(`${client.naming.key('csi')}: failed to get a kubernetes client`);
    await drivers.whenSynced(signal);
    return drivers.lister.get(name);
  }

  /** Returns the object of a driver as it is known now. */
  known(name: string): Frozen<CsiDriver> | undefined {
    return this.#parts.drivers?.lister.get(name);
  }

  /** Returns the content of a secret. */
  async secret({namespace, name}: SecretReference): Promise<Record<string, string>> {
    const type = this.#parts.client.naming.key('csi');
    try {
      const {data = {}} = await this.#parts.client.resource(kinds.secrets).get(name, {namespace});
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(Buffer.from(value, 'base64'))]));
    } catch (error) {
      const text = `${type}: failed to find the secret ${name} in the namespace ${namespace} with error: ${messageOf(error)}`;
      throw new Error(text, {cause: error});
    }
  }

  /** Returns the tokens of a pod that a driver asks for, as JSON by audience; undefined if it asks for none. */
  async tokens(pod: Frozen<Pod>, found: Frozen<CsiDriver> | undefined): Promise<string | undefined> {
    const requests = found?.spec.tokenRequests ?? [];
    if (requests.length === 0) return undefined;
    const granted: [string, {readonly token: string; readonly expirationTimestamp: string}][] = [];
    for (const {audience, expirationSeconds = defaultTokenSeconds} of requests)
      granted.push([audience, await this.#parts.tokens.grant(pod, {audience: audience || undefined, expirationSeconds})]);
    return JSON.stringify(Object.fromEntries(granted.sort(([a], [b]) => (a < b ? -1 : 1))));
  }
}
