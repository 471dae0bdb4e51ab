import {keyText, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {formatIp, parseIp} from '#src/base/ip-address.js';
import type {Index, Lister} from '#informers/lister.js';
import type {Selection} from '#informers/selection.js';

export type Service = ObjectOf<typeof kinds.services>;
export type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;
export type Pod = ObjectOf<typeof kinds.pods>;
type Namespace = ObjectOf<typeof kinds.namespaces>;
type Endpoint = Frozen<EndpointSlice>['endpoints'][number];

/** The labels and annotations of endpoint slices. */
export const sliceKeys = (naming: Naming) => ({
  service: naming.key('service-name'),
  triggerTime: naming.subKey('endpoints', 'last-change-trigger-time'),
});
export type SliceKeys = ReturnType<typeof sliceKeys>;

/** What is cached of each kind: no more than records are made of, since there may be very many. */
export const services: Selection<Service> = {
  kind: kinds.services,
  shape: {
    name: 'names',
    of({apiVersion, kind, metadata, spec}) {
      const {type, clusterIP, clusterIPs, externalName, ports} = spec ?? {};
      const cached = {type, clusterIP, clusterIPs, externalName, ports: ports?.map(({name, port, protocol}) => ({name, port, protocol}))};
      return {apiVersion, kind, metadata, spec: cached} as Frozen<Service>;
    },
  },
};

/** The slices of services alone: others may exist. */
export const endpointSlices: Selection<EndpointSlice> = {
  kind: kinds.endpointSlices,
  labelSelector: naming => sliceKeys(naming).service,
  shape: {
    name: 'names',
    of({apiVersion, kind, metadata, addressType, endpoints, ports}) {
      const cached = endpoints?.map(({addresses, hostname, conditions}) => ({addresses, hostname, conditions: {ready: conditions?.ready}}));
      return {apiVersion, kind, metadata, addressType, endpoints: cached, ports} as Frozen<EndpointSlice>;
    },
  },
};

/** Namespaces are asked only whether they are there. */
export const namespaces: Selection<Namespace> = {kind: kinds.namespaces, metadataOnly: true};

export const pods: Selection<Pod> = {
  kind: kinds.pods,
  shape: {
    name: 'names',
    of: ({apiVersion, kind, metadata, status}) =>
      ({apiVersion, kind, metadata, status: {podIP: status?.podIP, podIPs: status?.podIPs, phase: status?.phase}}) as Frozen<Pod>,
  },
};

/** A ready address of a service, as its slices list it. */
export interface ServiceEndpoint {
  readonly ip: string;
  /** Its name below that of the service: the hostname of the pod, or one made of the address. */
  readonly id: string;
  readonly slice: Frozen<EndpointSlice>;
}

/** The one form of an address, by which it is found. */
const canonical = (ip: string): string => {
  if (!ip.includes(':')) return ip;
  const address = parseIp(ip);
  return address ? formatIp(address) : ip;
};

/** Unknown readiness counts as ready. */
const isReady = ({conditions}: Endpoint): boolean => conditions?.ready !== false;

const idOf = (hostname: string | undefined, ip: string): string => {
  if (hostname) return hostname.toLowerCase();
  const dashed = ip.replaceAll(/[.:]/g, '-');
  // A label must not end with a dash.
  return dashed.endsWith('-') ? `${dashed}0` : dashed;
};

/** The addresses of ready endpoints of a slice. */
export const endpointsOf = (slice: Frozen<EndpointSlice>): ServiceEndpoint[] =>
  (slice.endpoints ?? [])
    .filter(isReady)
    .flatMap(({addresses, hostname}) => (addresses ?? []).map(ip => ({ip, id: idOf(hostname, ip), slice})));

export const clusterIpsOf = ({spec}: Frozen<Service>): readonly string[] => {
  const {clusterIPs, clusterIP} = spec ?? {};
  return clusterIPs && clusterIPs.length > 0 ? clusterIPs : clusterIP ? [clusterIP] : [];
};

export const isHeadless = (service: Frozen<Service>): boolean => clusterIpsOf(service)[0] === 'None';

const podIpsOf = ({status}: Frozen<Pod>): string[] => {
  const all = (status?.podIPs ?? []).map(({ip}) => ip ?? '').filter(Boolean);
  return all.length > 0 ? all : status?.podIP ? [status.podIP] : [];
};

const byClusterIp: Index<Service> = {
  name: 'cluster IP',
  values: service => (isHeadless(service) ? [] : clusterIpsOf(service).map(canonical)),
};

const hasEnded = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

const byPodIp: Index<Pod> = {
  name: 'pod IP of namespace',
  values: pod => (hasEnded(pod) ? [] : podIpsOf(pod).map(ip => `${pod.metadata?.namespace ?? ''}/${canonical(ip)}`)),
};

/** The indexes of endpoint slices, whose labels depend on the naming. */
export interface SliceIndexes {
  /** By `namespace/service`. */
  readonly service: Index<EndpointSlice>;
  /** By `namespace/service/id` of their endpoints. */
  readonly endpoint: Index<EndpointSlice>;
  readonly address: Index<EndpointSlice>;
}

const sliceIndexes = (keys: SliceKeys): SliceIndexes => {
  const of = (slice: Frozen<EndpointSlice>) => serviceKeyOf(slice, keys);
  return {
    service: {name: 'service', values: slice => of(slice) ?? []},
    endpoint: {
      name: 'endpoint of service',
      values: slice => [...new Set((of(slice) ?? []).flatMap(key => endpointsOf(slice).map(({id}) => `${key}/${id}`)))],
    },
    address: {name: 'address', values: slice => (of(slice) ? [...new Set(endpointsOf(slice).map(({ip}) => canonical(ip)))] : [])},
  };
};

const serviceKeyOf = ({metadata}: Frozen<EndpointSlice>, keys: SliceKeys): readonly [string] | undefined => {
  const name = metadata?.labels?.[keys.service];
  return name ? [keyText({namespace: metadata?.namespace ?? '', name})] : undefined;
};

export interface ClusterParts {
  readonly services: Lister<Service>;
  readonly endpointSlices: Lister<EndpointSlice>;
  readonly namespaces: Lister<Namespace>;
  /** Only where the names of pods are verified. */
  readonly pods: Lister<Pod> | undefined;
  readonly keys: SliceKeys;
}

/** What is known of the cluster, looked up by what names are made of. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #indexes: SliceIndexes;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#indexes = sliceIndexes(parts.keys);
  }

  hasNamespace(name: string): boolean {
    return this.#parts.namespaces.get(name) !== undefined;
  }

  service(namespace: string, name: string): Frozen<Service> | undefined {
    return this.#parts.services.get({namespace, name});
  }

  serviceOfClusterIp(ip: string): Frozen<Service> | undefined {
    return this.#parts.services.by(byClusterIp, ip)[0];
  }

  /** The ready endpoints of a service, or those with an id. */
  endpoints(namespace: string, service: string, id?: string): ServiceEndpoint[] {
    const key = `${namespace}/${service}`;
    const {endpointSlices: slices} = this.#parts;
    if (id === undefined) return slices.by(this.#indexes.service, key).flatMap(endpointsOf);
    return slices.by(this.#indexes.endpoint, `${key}/${id}`).flatMap(slice => endpointsOf(slice).filter(each => each.id === id));
  }

  /** The ready endpoints with an address, of any service, with that service's name. */
  endpointsAt(ip: string): (ServiceEndpoint & {readonly service: string; readonly namespace: string})[] {
    return this.#parts.endpointSlices.by(this.#indexes.address, ip).flatMap(slice => {
      const {namespace = '', labels} = slice.metadata ?? {};
      const service = labels?.[this.#parts.keys.service] ?? '';
      return endpointsOf(slice)
        .filter(each => canonical(each.ip) === ip)
        .map(each => ({...each, service, namespace}));
    });
  }

  /** Whether a pod of a namespace that has not ended has an address. */
  hasPod(namespace: string, ip: string): boolean {
    return (this.#parts.pods?.count(byPodIp, `${namespace}/${canonical(ip)}`) ?? 0) > 0;
  }
}
