// The endpoints of the ports of a service, read from its slices.

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {ObjectKey} from '#src/api/key.js';
import {formatIp, parseLooseIp} from '#src/base/ip-address.js';
import {hostAndPort} from './ip-family.js';
import {servicePortKey, type Protocol} from './service-port-name.js';

export type EndpointSlice = Frozen<ObjectOf<typeof kinds.endpointSlices>>;
type SliceEndpoint = EndpointSlice['endpoints'][number];

/** An endpoint of a service port. */
export interface Endpoint {
  /** Address and port, such as `10.0.0.1:80`: unique among the endpoints of a service port. */
  readonly address: string;
  readonly ip: string;
  readonly port: number;
  /** Whether it is on the node of the proxy. */
  readonly isLocal: boolean;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** The zones that are to use it. */
  readonly zoneHints: readonly string[];
  /** The nodes that are to use it. */
  readonly nodeHints: readonly string[];
}

/** Endpoints by the key of their service port, sorted by address. */
export type EndpointsByPort = ReadonlyMap<string, readonly Endpoint[]>;

const endpointOf = (endpoint: SliceEndpoint, address: string, port: number, nodeName: string): Endpoint => {
  const {conditions, hints} = endpoint;
  const parsed = parseLooseIp(address);
  const ip = parsed ? formatIp(parsed) : address;
  return {
    address: hostAndPort(ip, port),
    ip,
    port,
    isLocal: nodeName !== '' && endpoint.nodeName === nodeName,
    isReady: conditions?.ready ?? true,
    isServing: conditions?.serving ?? true,
    isTerminating: conditions?.terminating ?? false,
    zoneHints: (hints?.forZones ?? []).map(({name}) => name),
    nodeHints: (hints?.forNodes ?? []).map(({name}) => name),
  };
};

/** Reads the endpoints of a service from all its slices. An endpoint that several slices have counts once. */
export const endpointsOf = (service: ObjectKey, slices: Iterable<EndpointSlice>, nodeName: string): EndpointsByPort => {
  const found = new Map<string, Map<string, Endpoint>>();
  for (const {ports, endpoints} of slices)
    for (const {name, port, protocol = 'TCP'} of ports ?? []) {
      if (name === undefined || name === null || !port) continue;
      const key = servicePortKey({...service, port: name, protocol: protocol as Protocol});
      const known = found.get(key) ?? new Map<string, Endpoint>();
      found.set(key, known);
      for (const each of endpoints ?? []) {
        const [address] = each.addresses;
        if (!address) continue;
        const endpoint = endpointOf(each, address, port, nodeName);
        if (endpoint.isLocal || !known.has(endpoint.address)) known.set(endpoint.address, endpoint);
      }
    }
  const sorted = [...found].filter(([, endpoints]) => endpoints.size > 0);
  return new Map(sorted.map(([key, endpoints]) => [key, [...endpoints.values()].sort(byAddress)]));
};

const byAddress = (a: Endpoint, b: Endpoint): number => (a.address < b.address ? -1 : 1);
