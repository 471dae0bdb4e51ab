// A cluster whose objects stay as they are, and its names.

import type {Frozen} from '#src/api/key.js';
import {naming as namingOf, type NamingName} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {runSteps} from '#src/base/steps.js';
import {Cluster, sliceKeys, type EndpointSlice, type Pod, type Service} from '#src/dns/cluster/cluster.js';
import type {PodMode} from '#src/dns/settings/settings.js';
import {ClusterZone} from '#src/dns/cluster/zone.js';
import {parseName} from '#src/dns/wire/names.js';
import {Cache} from '#informers/cache.js';

const cacheOf = <T extends KubeObject>(objects: readonly T[]): Cache<T> => {
  const cache = new Cache<T>();
  runSteps(cache.replacing(objects as readonly Frozen<T>[]));
  return cache;
};

export const aService = (name: string, spec: NonNullable<Service['spec']>, namespace = 'default'): Service => ({
  metadata: {name, namespace},
  spec,
});

export const aSlice = (
  service: string,
  endpoints: EndpointSlice['endpoints'],
  {ports, namespace = 'default', name = `${service}-1`}: {ports?: EndpointSlice['ports']; namespace?: string; name?: string} = {},
): EndpointSlice => ({
  metadata: {name, namespace, labels: {'kubernetes.io/service-name': service}},
  addressType: endpoints[0]?.addresses[0]?.includes(':') ? 'IPv6' : 'IPv4',
  endpoints,
  ...(ports ? {ports} : {}),
});

export interface ClusterObjects {
  readonly services?: readonly Service[];
  readonly slices?: readonly EndpointSlice[];
  readonly namespaces?: readonly string[];
  readonly pods?: readonly Pod[];
}

export const domain = parseName('cluster.local')!;

export const clusterOf = (
  {services = [], slices = [], namespaces = ['default'], pods = []}: ClusterObjects,
  naming: NamingName = 'kubernetes',
) =>
  new Cluster({
    services: cacheOf(services),
    endpointSlices: cacheOf(slices),
    namespaces: cacheOf(namespaces.map(name => ({metadata: {name}}))),
    pods: cacheOf(pods),
    keys: sliceKeys(namingOf(naming)),
  });

/** The zone of a cluster with these objects. */
export const zoneOf = (
  objects: ClusterObjects,
  podMode: PodMode = 'insecure',
  nameservers: readonly string[] = ['10.244.0.2'],
): ClusterZone =>
  new ClusterZone({domain, cluster: clusterOf(objects), podMode, ttl: 5, nameservers: () => nameservers, serial: () => 1_767_225_600});

/** Objects of each kind that has records. */
export const examples: ClusterObjects = {
  namespaces: ['default', 'shop', 'kube-system'],
  services: [
    aService('kubernetes', {clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{name: 'https', port: 443, protocol: 'TCP'}]}),
    aService('dual', {
      ipFamilyPolicy: 'RequireDualStack',
      clusterIP: '10.96.0.7',
      clusterIPs: ['10.96.0.7', 'fd00:96::7'],
      ports: [
        {name: 'http', port: 80, protocol: 'TCP'},
        {name: 'dns', port: 53, protocol: 'UDP'},
      ],
    }),
    aService('unnamed', {clusterIP: '10.96.0.8', ports: [{port: 80, protocol: 'TCP'}]}),
    aService('pets', {clusterIP: 'None', clusterIPs: ['None'], ports: [{name: 'http', port: 80, protocol: 'TCP'}]}, 'shop'),
    aService('none-ready', {clusterIP: 'None', clusterIPs: ['None'], ports: [{name: 'http', port: 80}]}, 'shop'),
    aService('without-ports', {clusterIP: 'None', clusterIPs: ['None']}, 'shop'),
    aService('six', {clusterIP: 'None', clusterIPs: ['None'], ports: [{name: 'http', port: 80}]}, 'shop'),
    aService('outside', {type: 'ExternalName', externalName: 'www.example.com'}),
    aService('inside', {type: 'ExternalName', externalName: 'kubernetes.default.svc.cluster.local'}),
    aService('twice', {type: 'ExternalName', externalName: 'inside.default.svc.cluster.local'}),
    aService('dangling', {type: 'ExternalName', externalName: 'nobody.default.svc.cluster.local'}),
    aService('itself', {type: 'ExternalName', externalName: 'itself.default.svc.cluster.local'}),
    aService('ping', {type: 'ExternalName', externalName: 'pong.default.svc.cluster.local'}),
    aService('pong', {type: 'ExternalName', externalName: 'ping.default.svc.cluster.local'}),
    aService('address', {type: 'ExternalName', externalName: '192.0.2.1'}),
    aService('kube-dns', {clusterIP: '10.96.0.10', ports: [{name: 'dns', port: 53, protocol: 'UDP'}]}, 'kube-system'),
  ],
  slices: [
    aSlice(
      'pets',
      [
        {addresses: ['10.244.1.5'], hostname: 'cat', conditions: {ready: true}},
        {addresses: ['10.244.1.6'], conditions: {}},
        {addresses: ['10.244.1.7'], hostname: 'dog', conditions: {ready: false}},
      ],
      {namespace: 'shop', ports: [{name: 'http', port: 8080, protocol: 'TCP'}]},
    ),
    aSlice('none-ready', [{addresses: ['10.244.1.9'], conditions: {ready: false}}], {namespace: 'shop', ports: [{name: 'http', port: 80}]}),
    aSlice('without-ports', [{addresses: ['10.244.1.10'], conditions: {ready: true}}], {namespace: 'shop'}),
    aSlice(
      'six',
      [
        {addresses: ['fd00:244::5'], conditions: {ready: true}},
        {addresses: ['fd00:244::'], conditions: {ready: true}},
      ],
      {
        namespace: 'shop',
        ports: [{name: 'http', port: 80, protocol: 'TCP'}],
      },
    ),
    aSlice('dual', [{addresses: ['10.244.2.3'], conditions: {ready: true}}], {ports: [{name: 'http', port: 8080, protocol: 'TCP'}]}),
    aSlice('kube-dns', [{addresses: ['10.244.0.2'], conditions: {ready: true}}], {
      namespace: 'kube-system',
      ports: [{name: 'dns', port: 53, protocol: 'UDP'}],
    }),
  ],
  pods: [
    {metadata: {name: 'one', namespace: 'shop'}, status: {podIP: '10.244.1.5', podIPs: [{ip: '10.244.1.5'}], phase: 'Running'}},
    {metadata: {name: 'done', namespace: 'shop'}, status: {podIP: '10.244.1.20', podIPs: [{ip: '10.244.1.20'}], phase: 'Succeeded'}},
  ],
};
