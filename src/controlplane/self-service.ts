import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {every, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {sameJson} from '#src/api/equal.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import {familyOf} from '#src/resources/ip-family.js';

type Service = ObjectOf<typeof kinds.services>;
type Endpoints = ObjectOf<typeof kinds.endpoints>;
type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;

const namespace = 'default';
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
  /** Absent where the endpoints are somebody else's to keep. */
  readonly peers: ServerPeers | undefined;
  /** The newest revision of the store. Where nobody else writes that they live, nothing is to be done while it stands still. */
  readonly revision?: () => Promise<number> | number;
  /** The address and port this server is reached at. */
  readonly address: string;
  readonly port: number;
  /** The address the service has: the first of its range. */
  readonly serviceAddress: string;
  /** 0 where the service is reached within the cluster only. */
  readonly nodePort: number;
}

const stored = async <T extends KubeObject>(of: ResourceClient<T>, name: string): Promise<T | undefined> => {
  try {
    return await of.get(name, {namespace});
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

const ensureService = async ({client, port, serviceAddress, nodePort}: SelfServiceParts): Promise<void> => {
  const {self} = client.naming;
  const services = client.resource(kinds.services);
  const spec: NonNullable<Service['spec']> = {
    type: nodePort ? 'NodePort' : 'ClusterIP',
    ports: [{name: portName, port: 443, protocol: 'TCP', targetPort: port, ...(nodePort ? {nodePort} : {})}],
  };
  const found = await stored(services, self);
  if (!found) {
    await services.create({
      metadata: {name: self, namespace, labels: {component: 'apiserver', provider: self}},
      spec: {...spec, clusterIP: serviceAddress, ipFamilyPolicy: 'SingleStack', sessionAffinity: 'None'},
    });
  } else if (found.spec?.type !== spec.type || !sameJson(found.spec?.ports, spec.ports)) await services.update({...found, spec: {...found.spec, ...spec}});
};

/** Both kinds of endpoints list the servers that live; the older one is not mirrored into the newer. */
const writeEndpoints = async ({client, port}: SelfServiceParts, addresses: readonly string[]): Promise<void> => {
  const {naming} = client;
  const ports = [{name: portName, port, protocol: 'TCP'}];
  const metadata = {name: naming.self, namespace};
  const endpoints: Endpoints = {
    metadata: {...metadata, labels: {[naming.subKey('endpointslice', 'skip-mirror')]: 'true'}},
    ...(addresses.length > 0 ? {subsets: [{addresses: addresses.map(ip => ({ip})), ports}]} : {}),
  };
  const slice: EndpointSlice = {
    metadata: {...metadata, labels: {[naming.key('service-name')]: naming.self}},
    addressType: familyOf(addresses[0] ?? '0.0.0.0'),
    endpoints: addresses.map(address => ({addresses: [address], conditions: {ready: true}})),
    ports,
  };
  const found = await stored(client.resource(kinds.endpoints), naming.self);
  if (!found) await client.resource(kinds.endpoints).create(endpoints);
  else if (!sameJson(found.subsets ?? [], endpoints.subsets ?? [])) await client.resource(kinds.endpoints).update({...found, ...endpoints, metadata: {...found.metadata, ...endpoints.metadata}});
  const before = await stored(client.resource(kinds.endpointSlices), naming.self);
  if (!before) await client.resource(kinds.endpointSlices).create(slice);
  else if (!sameJson([before.endpoints ?? [], before.ports ?? []], [slice.endpoints, ports])) {
    await client.resource(kinds.endpointSlices).update({...before, ...slice, metadata: {...before.metadata, ...slice.metadata}});
  }
};

const reconcile = async (parts: SelfServiceParts): Promise<void> => {
  await ensureService(parts);
  if (!parts.peers) return;
  await parts.peers.renew(parts.address);
  await writeEndpoints(parts, await parts.peers.list());
};

/** What a server that stops does: others go on without it. */
export interface SelfService {
  leave(): Promise<void>;
}

/** Keeps the service that leads to the servers themselves, with an endpoint for each server that lives. Resolves once it is there for the first time; a failure is told and tried again. */
export const keepSelfService = async (parts: SelfServiceParts, signal: AbortSignal): Promise<SelfService> => {
  const {clock, log, peers, address, revision} = parts;
  let settledAt: number | undefined;
  const attempt = async (): Promise<void> => {
    try {
      const now = await revision?.();
      if (now !== undefined && now === settledAt) return;
      await reconcile(parts);
      settledAt = now;
    } catch (error) {
      if (!signal.aborted) log.warn({err: error}, 'the service that leads to this server could not be kept');
    }
  };
  await attempt();
  every(clock, periodMs, signal, attempt);
  return {
    async leave() {
      if (!peers) return;
      await peers.remove(address);
      await writeEndpoints(parts, await peers.list());
    },
  };
};
