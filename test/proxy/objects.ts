// Services and endpoint slices for tests of the proxy.

import {naming} from '#src/api/naming.js';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {Service} from '#src/proxy/state/service-port.js';

type Spec = NonNullable<Service['spec']>;
type Port = NonNullable<Spec['ports']>[number];
type SliceEndpoint = EndpointSlice['endpoints'][number];

const names = naming('kubernetes');

export const nodeName = 'test-node';

/** A port `p80` of TCP, unless told otherwise. */
export const port = (given: Partial<Port> = {}): Port => ({name: 'p80', port: 80, protocol: 'TCP', ...given});

/** A service, named `namespace/name`, with a port `p80`. */
export const service = (key: string, spec: Partial<Spec>, loadBalancerIps: readonly string[] = []): Service => {
  const [namespace = '', name = ''] = key.split('/');
  return {
    metadata: {namespace, name},
    spec: {type: 'ClusterIP', ports: [port()], ...spec},
    status: {loadBalancer: {ingress: loadBalancerIps.map(ip => ({ip}))}},
  };
};

/** An endpoint: its address, or all of it. */
export const endpoint = (given: string | SliceEndpoint): SliceEndpoint => (typeof given === 'string' ? {addresses: [given]} : given);

/** An endpoint on the node of the proxy. */
export const local = (address: string, given: Partial<SliceEndpoint> = {}): SliceEndpoint => ({addresses: [address], nodeName, ...given});

/** The slice of a service, with the port `p80` unless told otherwise. */
export const slice = (
  key: string,
  endpoints: readonly (string | SliceEndpoint)[],
  ports: readonly {name: string; port: number; protocol?: string}[] = [{name: 'p80', port: 80}],
  suffix = '1',
): EndpointSlice => {
  const [namespace = '', name = ''] = key.split('/');
  const all = endpoints.map(endpoint);
  return {
    metadata: {namespace, name: `${name}-${suffix}`, labels: {[names.key('service-name')]: name}},
    addressType: all[0]?.addresses[0]?.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: all,
    ports: ports.map(each => ({protocol: 'TCP', ...each})),
  };
};
