// Maintains the service of the API servers and its endpoints, one for each live server. Servers that share a store know
// of each other by leases in it; one that stops removes itself.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isInvalid} from '#src/api/status.js';
import {runEvery, sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {sameJson} from '#src/api/equal.js';
import type {Client} from '#src/client/client.js';
import {familyOf} from '#src/resources/ip-family.js';
import {ensureObject} from './ensure.js';

type Service = ObjectOf<typeof kinds.services>;
type Endpoints = ObjectOf<typeof kinds.endpoints>;
type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;

export const selfServiceNamespace = 'default';
const namespace = selfServiceNamespace;
const portName = 'https';
const periodMs = 10_000;

/** The servers that share a store, by address. */
export interface ServerPeers {
  renew(address: string): Promise<void>;
  remove(address: string): Promise<void>;
  list(): Promise<readonly string[]>;
}

export interface SelfServiceParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent where the endpoints are managed by others. */
  readonly peers: ServerPeers | undefined;
  /**
   * The current revision of the store. If no peer leases are stored, nothing has to be done while it does not change.
   */
  readonly revision?: () => Promise<number> | number;
  /** The address and port at which this server is reached; the address is empty without an endpoint. */
  readonly address: string;
  readonly port: number;
  /** The service's address: the first of its range. */
  readonly serviceAddress: string;
  /** 0 if the service has no node port. */
  readonly nodePort: number;
}

const ensureService = async ({client, port, serviceAddress, nodePort}: SelfServiceParts): Promise<void> => {
  const {self} = client.naming;
  const services = client.resource(kinds.services);
  const spec: NonNullable<Service['spec']> = {
    type: nodePort ? 'NodePort' : 'ClusterIP',
    ports: [{name: portName, port: 443, protocol: 'TCP', targetPort: port, ...(nodePort ? {nodePort} : {})}],
  };
  await ensureObject(services, {name: self, namespace}, found => {
    if (!found) {
      return {
        create: {
          metadata: {name: self, namespace, labels: {component: 'apiserver', provider: self}},
          spec: {...spec, clusterIP: serviceAddress, ipFamilyPolicy: 'SingleStack', sessionAffinity: 'None'},
        },
      };
    }
    return found.spec?.type === spec.type && sameJson(found.spec?.ports, spec.ports)
      ? undefined
      : {update: {...found, spec: {...found.spec, ...spec}}};
  });
};

/**
 * Writes both kinds of endpoints with the live servers; Endpoints are not mirrored into slices. The live servers are
 * read after the object: of two servers that write concurrently, the one with the conflict then knows of the other.
 */
const writeEndpoints = async ({client, port}: SelfServiceParts, peers: ServerPeers): Promise<void> => {
  const {naming} = client;
  const ports = [{name: portName, port, protocol: 'TCP'}];
  const metadata = {name: naming.self, namespace};
  await ensureObject(client.resource(kinds.endpoints), metadata, async found => {
    const addresses = await peers.list();
    const wanted: Endpoints = {
      metadata: {...metadata, labels: {[naming.subKey('endpointslice', 'skip-mirror')]: 'true'}},
      ...(addresses.length > 0 ? {subsets: [{addresses: addresses.map(ip => ({ip})), ports}]} : {}),
    };
    if (!found) return {create: wanted};
    const {subsets = []} = wanted;
    return sameJson(found.subsets ?? [], subsets)
      ? undefined
      : {update: {...found, subsets, metadata: {...found.metadata, ...wanted.metadata}}};
  });
  const slices = client.resource(kinds.endpointSlices);
  await ensureObject(slices, metadata, async found => {
    const addresses = await peers.list();
    const wanted: EndpointSlice = {
      metadata: {...metadata, labels: {[naming.key('service-name')]: naming.self}},
      addressType: addresses[0] === undefined ? (found?.addressType ?? 'IPv4') : familyOf(addresses[0]),
      endpoints: addresses.map(address => ({addresses: [address], conditions: {ready: true}})),
      ports,
    };
    if (!found) return {create: wanted};
    // The family of a slice is immutable: after a start with an address of the other one it is made anew.
    if (found.addressType !== wanted.addressType) {
      await slices.delete(metadata.name, {namespace});
      return {create: wanted};
    }
    return sameJson([found.endpoints ?? [], found.ports ?? []], [wanted.endpoints, ports])
      ? undefined
      : {update: {...found, ...wanted, metadata: {...found.metadata, ...wanted.metadata}}};
  });
};

const retries = {tries: 20, pauseMs: 50};

/**
 * While another server creates the service concurrently, its address is taken before the service exists: creation is
 * retried until then.
 */
const ensureServiceWithRetries = async (parts: SelfServiceParts, signal: AbortSignal): Promise<void> => {
  const {clock, revision} = parts;
  const isShared = revision === undefined;
  for (let attempts = 1; ; attempts++) {
    try {
      return await ensureService(parts);
    } catch (error) {
      if (!isShared || !isInvalid(error) || attempts === retries.tries) throw error;
      await sleep(clock, retries.pauseMs, signal);
    }
  }
};

const reconcile = async (parts: SelfServiceParts, signal: AbortSignal): Promise<void> => {
  const {peers, address} = parts;
  await ensureServiceWithRetries(parts, signal);
  if (!peers) return;
  await peers.renew(address);
  await writeEndpoints(parts, peers);
};

/** The service of the API servers, with an endpoint for each live server. */
export class SelfService {
  readonly #parts: SelfServiceParts;
  #isEntered = false;

  constructor(parts: SelfServiceParts) {
    this.#parts = parts;
  }

  /**
   * Maintains the service and its endpoints until the signal. Resolves once they exist; later failures are logged and
   * retried.
   */
  async maintain(signal: AbortSignal): Promise<void> {
    const {clock, log, revision} = this.#parts;
    let settledAt: number | undefined;
    const attempt = async (): Promise<void> => {
      try {
        const now = await revision?.();
        if (now !== undefined && now === settledAt) return;
        await reconcile(this.#parts, signal);
        settledAt = now;
      } catch (error) {
        if (!signal.aborted) log.warn({err: error}, 'the service that leads to this server could not be kept');
      }
    };
    await attempt();
    runEvery(clock, periodMs, signal, attempt);
    this.#isEntered = true;
  }

  /** Writes the service and its endpoints now. */
  renew(signal: AbortSignal): Promise<void> {
    return reconcile(this.#parts, signal);
  }

  /** Removes this server from the endpoints, if it is maintained. */
  async leave(): Promise<void> {
    const {peers, address} = this.#parts;
    if (!peers || !this.#isEntered) return;
    await peers.remove(address);
    await writeEndpoints(this.#parts, peers);
  }
}
