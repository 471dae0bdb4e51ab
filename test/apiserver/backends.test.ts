import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {serviceResolver, type ServiceReference} from '#src/apiserver/backends/service-resolver.js';
import {at} from './service-place.js';

const words = naming('plat');
const resolverOver = (objects: {services?: readonly object[]; slices?: readonly object[]}, toEndpoints = false) =>
  serviceResolver({
    reader: {
      get: (_, namespace, name) =>
        (objects.services as readonly KubeObject[] | undefined)?.find(
          ({metadata}) => metadata?.name === name && namespace === 'ns',
        ) as never,
      list: kind => Promise.resolve((kind.plural === kinds.endpointSlices.plural ? (objects.slices ?? []) : []) as never),
    },
    random: seededRandom(1),
    naming: words,
    toEndpoints,
    serverAddress: '[::]:6443',
  });

const aService = (spec: object) => ({
  metadata: {name: 'svc', namespace: 'ns'},
  spec: {type: 'ClusterIP', clusterIP: '10.0.0.7', ports: [{name: 'web', port: 443, targetPort: 8443}], ...spec},
});

const aSlice = (endpoints: readonly object[], more: object = {}) => ({
  metadata: {labels: {[words.key('service-name')]: 'svc'}},
  addressType: 'IPv4',
  ports: [{name: 'web', port: 8443}],
  endpoints,
  ...more,
});

const places: readonly (readonly [
  title: string,
  objects: Parameters<typeof resolverOver>[0],
  toEndpoints: boolean,
  reference: ServiceReference,
  found: string,
])[] = [
  ['its cluster address', {services: [aService({})]}, false, at, '10.0.0.7:443'],
  [
    'the host an external name stands for',
    {services: [aService({type: 'ExternalName', externalName: 'example.com'})]},
    false,
    {...at, port: 8080},
    'example.com:8080',
  ],
  [
    'one of the addresses behind it',
    {services: [aService({})], slices: [aSlice([{addresses: ['10.1.0.1'], conditions: {ready: false}}, {addresses: ['10.1.0.2']}])]},
    true,
    at,
    '10.1.0.2:8443',
  ],
  [
    'an address behind it, not behind another',
    {
      services: [aService({})],
      slices: [
        aSlice([{addresses: ['10.1.0.1']}], {metadata: {labels: {[words.key('service-name')]: 'other'}}}),
        aSlice([{addresses: ['10.1.0.2']}]),
      ],
    },
    true,
    at,
    '10.1.0.2:8443',
  ],
  [
    'an address of its first family',
    {
      services: [aService({ipFamilies: ['IPv6', 'IPv4']})],
      slices: [aSlice([{addresses: ['10.1.0.1']}]), aSlice([{addresses: ['fd00::1']}], {addressType: 'IPv6'})],
    },
    true,
    at,
    'fd00::1:8443',
  ],
  ['where this server listens', {}, false, {namespace: 'default', name: words.self, port: 443}, '::1:6443'],
];

for (const [title, objects, toEndpoints, reference, found] of places) {
  test(`a service is found at ${title}`, async t => {
    const {host, port} = await resolverOver(objects, toEndpoints)(reference);
    t.is(`${host}:${port}`, found);
  });
}

const lost: readonly (readonly [
  objects: Parameters<typeof resolverOver>[0],
  toEndpoints: boolean,
  reference: ServiceReference,
  message: string,
])[] = [
  [{}, false, at, 'service "svc" not found'],
  [{services: [aService({clusterIP: 'None'})]}, false, at, 'cannot route to service with ClusterIP "None"'],
  [{services: [aService({})]}, false, {...at, port: 80}, 'no service port 80 found for service "svc"'],
  [{services: [aService({type: 'ExternalName', externalName: 'example.com'})]}, true, at, 'unsupported service type "ExternalName"'],
  [{services: [aService({})]}, true, at, 'no endpoints available for service "svc"'],
  [
    {services: [aService({})], slices: [aSlice([{addresses: ['10.1.0.1'], conditions: {ready: false}}])]},
    true,
    at,
    'no endpoints available for service "svc"',
  ],
  [
    {services: [aService({})], slices: [aSlice([{addresses: ['10.1.0.1']}], {ports: [{name: 'other', port: 1}]})]},
    true,
    at,
    'no endpoints available for service "svc"',
  ],
];

for (const [i, [objects, toEndpoints, reference, message]] of lost.entries()) {
  test(`${i}: ${toEndpoints ? 'by endpoints' : 'by address'} there is no way to ${reference.name}:${reference.port}: ${message}`, async t => {
    await t.throwsAsync(resolverOver(objects, toEndpoints)(reference), {message});
  });
}
