// Resolves service references of webhooks and APIServices to addresses: the cluster IP, an endpoint, the host of an
// ExternalName, or this server's own listener. Nothing is cached: services and endpoints are read for each call.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {notFound, serviceUnavailable} from '#src/api/status.js';
import type {Random} from '#src/base/random.js';

type Service = ObjectOf<typeof kinds.services>;
type Slice = ObjectOf<typeof kinds.endpointSlices>;

/** A service that is called. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** The address of a connection to it. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Resolves the current address of a service. Rejects with the reason, as upstream words it. */
export type ServiceResolver = (reference: ServiceReference) => Promise<ServiceAddress>;

export interface ServiceResolverParts {
  readonly reader: Reader;
  readonly random: Random;
  readonly naming: Naming;
  /** Whether connections go to the addresses behind a service instead of its own (`--enable-aggregator-routing`). */
  readonly toEndpoints: boolean;
  /** `host:port` of this server's listener; empty without one. */
  readonly serverAddress: string;
}

/** The name that the certificate behind a service must have. */
export const serviceServerName = ({namespace, name}: Pick<ServiceReference, 'namespace' | 'name'>): string => `${name}.${namespace}.svc`;

/** Whether a reference refers to this server itself. */
export const isSelf = ({namespace, name, port}: ServiceReference, {self}: Naming): boolean =>
  namespace === 'default' && name === self && port === 443;

/**
 * Resolves services as the options specify. This server itself is found at its listener, whatever its service contains.
 */
export const serviceResolver = ({reader, random, naming, toEndpoints, serverAddress}: ServiceResolverParts): ServiceResolver => {
  const resolve = toEndpoints ? endpointOf : clusterAddress;
  return async reference => {
    const own = isSelf(reference, naming) ? listening(serverAddress) : undefined;
    if (own) return own;
    const service = await reader.get(kinds.services, reference.namespace, reference.name);
    // Named as upstream's listers do.
    if (!service) throw notFound({group: '', resource: 'service'}, reference.name);
    return resolve(service as Service, reference, {reader, random, naming});
  };
};

const listening = (address: string): ServiceAddress | undefined => {
  const {host = '', port} = /^\[?(?<host>.*?)\]?:(?<port>\d+)$/.exec(address)?.groups ?? {};
  const everywhere = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return port ? {host: everywhere, port: Number(port)} : undefined;
};

type Found = Pick<ServiceResolverParts, 'reader' | 'random' | 'naming'>;

const typeOf = ({spec}: Service): string => spec?.type ?? 'ClusterIP';

const routed = new Set(['ClusterIP', 'LoadBalancer', 'NodePort']);

/** Throws for a type of service that cannot be resolved. */
const checkRouted = (type: string): void => {
  if (!routed.has(type)) throw new Error(`unsupported service type ${JSON.stringify(type)}`);
};

const portOf = ({spec, metadata}: Service, requested: number) => {
  const port = spec?.ports?.find(({port}) => port === requested);
  if (!port) throw serviceUnavailable(`no service port ${requested} found for service ${JSON.stringify(metadata?.name)}`);
  return port;
};

const clusterAddress = (service: Service, {port}: ServiceReference): ServiceAddress => {
  const {clusterIP = '', externalName = ''} = service.spec ?? {};
  const type = typeOf(service);
  if (type === 'ExternalName') return {host: externalName, port};
  checkRouted(type);
  if (type === 'ClusterIP' && clusterIP === 'None') throw new Error('cannot route to service with ClusterIP "None"');
  return {host: clusterIP, port: portOf(service, port).port};
};

const endpointOf = async (
  service: Service,
  {namespace, name, port}: ServiceReference,
  {reader, random, naming}: Found,
): Promise<ServiceAddress> => {
  checkRouted(typeOf(service));
  const servicePort = portOf(service, port);
  const slices = ((await reader.list(kinds.endpointSlices, namespace)) as readonly Slice[]).filter(
    ({metadata}) => metadata?.labels?.[naming.key('service-name')] === name,
  );
  for (const slice of inRandomOrder(slices, service.spec?.ipFamilies?.[0], random)) {
    for (const {name: portName, port: number} of slice.ports ?? []) {
      if ((portName ?? '') !== (servicePort.name ?? '') || number === undefined) continue;
      const ready = readyFrom(slice, random);
      if (ready) return {host: ready, port: number};
    }
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
};

/** At random, but those of the service's first family before others. */
const inRandomOrder = (slices: readonly Slice[], family: string | undefined, random: Random): readonly Slice[] =>
  slices
    .map(slice => ({slice, rank: (family !== undefined && slice.addressType !== family ? 1 : 0) + random.float()}))
    .sort((a, b) => a.rank - b.rank)
    .map(({slice}) => slice);

/** Returns the address of a random ready endpoint. */
const readyFrom = ({endpoints}: Slice, random: Random): string | undefined => {
  const all = endpoints ?? [];
  const offset = Math.floor(random.float() * all.length);
  for (let i = 0; i < all.length; i++) {
    const {conditions, addresses} = all[(i + offset) % all.length]!;
    if (conditions?.ready !== false) return addresses[0];
  }
  return undefined;
};
