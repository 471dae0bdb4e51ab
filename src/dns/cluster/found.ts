import {parseIp} from '#src/base/ip-address.js';
import {clusterIpsOf, isHeadless, type Cluster, type ServiceEndpoint} from './cluster.js';
import type {PodMode} from '#src/dns/settings/settings.js';
import {dashedAddress, type NameRequest} from './request.js';

/** An address that a name stands for. */
export interface FoundAddress {
  readonly ip: string;
  /** Absent where no port is declared. */
  readonly port: number | undefined;
  /** The id of the endpoint, if it is one. */
  readonly endpoint: string | undefined;
}

/** What a name stands for: nothing that exists, addresses (none for names that exist without), or another name. */
export type Found =
  | {readonly kind: 'unknown'}
  | {readonly kind: 'addresses'; readonly addresses: readonly FoundAddress[]}
  | {readonly kind: 'alias'; readonly target: string};

const unknown: Found = {kind: 'unknown'};
const nothing: Found = {kind: 'addresses', addresses: []};
const all = (addresses: readonly FoundAddress[]): Found => (addresses.length > 0 ? {kind: 'addresses', addresses} : unknown);

/** Finds what a request stands for in the cluster. */
export const find = (cluster: Cluster, podMode: PodMode, request: NameRequest): Found => {
  if (request.kind === 'none') return unknown;
  if (request.kind === 'node') return request.namespace === undefined || cluster.hasNamespace(request.namespace) ? nothing : unknown;
  if (!cluster.hasNamespace(request.namespace)) return unknown;
  return request.kind === 'pod' ? findPod(cluster, podMode, request) : findService(cluster, request);
};

const findPod = (cluster: Cluster, podMode: PodMode, {namespace, name}: Extract<NameRequest, {kind: 'pod'}>): Found => {
  if (podMode === 'disabled') return unknown;
  const ip = dashedAddress(name);
  const isKnown = podMode === 'insecure' ? parseIp(ip) !== undefined : cluster.hasPod(namespace, ip);
  return isKnown ? all([{ip, port: undefined, endpoint: undefined}]) : unknown;
};

type ServiceRequest = Extract<NameRequest, {kind: 'service'}>;

/** The declared ports; one that is absent where none is, which only a request for all ports finds. */
const matching = (
  ports: readonly {readonly name?: string; readonly port?: number; readonly protocol?: string}[] | undefined,
  {port, protocol}: ServiceRequest,
): (number | undefined)[] =>
  (ports && ports.length > 0 ? ports : [{}])
    .filter(({name, protocol: own = ''}) => (!port || (name ?? '').toLowerCase() === port) && (!protocol || own.toLowerCase() === protocol))
    .map(each => each.port);

const findService = (cluster: Cluster, request: ServiceRequest): Found => {
  const {namespace, name, endpoint, port, protocol} = request;
  const service = cluster.service(namespace, name);
  if (!service) return unknown;
  if (service.spec?.type === 'ExternalName') {
    const target = service.spec.externalName ?? '';
    // What is below it belongs to the other name; and an address is no name.
    const isAlias = endpoint === undefined && !port && !protocol && target !== '' && parseIp(target) === undefined;
    return isAlias ? {kind: 'alias', target} : unknown;
  }
  if (endpoint !== undefined || isHeadless(service)) return all(ofEndpoints(cluster.endpoints(namespace, name, endpoint), request));
  const ports = matching(service.spec?.ports, request);
  if (ports.length === 0) return unknown;
  const ips = clusterIpsOf(service);
  return {kind: 'addresses', addresses: ports.flatMap(each => ips.map(ip => ({ip, port: each, endpoint: undefined})))};
};

const ofEndpoints = (endpoints: readonly ServiceEndpoint[], request: ServiceRequest): FoundAddress[] =>
  endpoints.flatMap(({ip, id, slice}) => matching(slice.ports, request).map(port => ({ip, port, endpoint: id})));
