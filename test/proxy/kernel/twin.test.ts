// The table beside that of the original's program, for the same services of the same plane.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {proxyTable} from '#src/api/naming.js';
import {Undo} from '#src/base/undo.js';
import type {Client} from '#src/client/client.js';
import {startPlane} from '#src/plane/index.js';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {eventually} from '#test/cli/eventually.js';
import type {Namespaces} from '#test/node/namespaces.js';
import {run} from '#test/node/run.js';
import {local, nodeName, port, service, slice} from '#test/proxy/objects.js';
import {originalMissing, startOriginal, startOurs} from './proxies.js';
import {kernelMissing} from './world.js';

const missing = kernelMissing ?? originalMissing;

const ip = (last: number): string => `10.96.0.${last}`;
const affinity = {sessionAffinity: 'ClientIP', sessionAffinityConfig: {clientIP: {timeoutSeconds: 90}}};
const balancer = (last: number, nodePort: number) => ({type: 'LoadBalancer', clusterIP: ip(last), ports: [port({nodePort})]}) as const;

const services: readonly Service[] = [
  service('ns/plain', {clusterIP: ip(41)}),
  service('ns/empty', {clusterIP: ip(42), externalIPs: ['192.168.99.1']}),
  service('ns/ports', {
    clusterIP: ip(43),
    ports: [port({name: 'a'}), port({name: 'dns', port: 53, protocol: 'UDP'}), port({name: 'c', port: 81})],
  }),
  service('ns/node', {type: 'NodePort', clusterIP: ip(44), ports: [port({nodePort: 30044})]}),
  service('ns/local', {...balancer(45, 30045), externalTrafficPolicy: 'Local', externalIPs: ['192.168.99.2']}, ['1.2.3.45']),
  service('ns/elsewhere', {...balancer(46, 30046), externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local'}, ['1.2.3.46']),
  service('ns/guarded', {...balancer(47, 30047), loadBalancerSourceRanges: ['203.0.113.0/25', '10.1.0.0/16']}, ['1.2.3.47']),
  service('ns/staying', {...balancer(48, 30048), ...affinity, internalTrafficPolicy: 'Local'}, ['1.2.3.48']),
  service('ns/draining', {clusterIP: ip(49)}),
  service('ns/headless', {clusterIP: 'None'}),
];
const remote = {addresses: ['10.244.2.1'], nodeName: 'other'};

const slices: readonly EndpointSlice[] = [
  slice('ns/plain', ['10.244.2.1', '10.244.2.2', local('10.244.1.1')]),
  slice(
    'ns/ports',
    [local('10.244.1.1')],
    [
      {name: 'a', port: 8080},
      {name: 'dns', port: 53, protocol: 'UDP'},
      {name: 'c', port: 8081},
    ],
  ),
  slice('ns/node', [remote]),
  slice('ns/local', [remote, local('10.244.1.1')]),
  slice('ns/elsewhere', [remote]),
  slice('ns/guarded', [remote]),
  slice('ns/staying', [remote, local('10.244.1.1'), local('10.244.1.2')]),
  slice('ns/draining', [local('10.244.1.1', {conditions: {ready: false, serving: true, terminating: true}})]),
  slice('ns/headless', [remote]),
];

const fill = async (client: Client): Promise<void> => {
  await client.resource(kinds.namespaces).create({metadata: {name: 'ns'}});
  await client
    .resource(kinds.nodes)
    .create({metadata: {name: nodeName}, status: {addresses: [{type: 'InternalIP', address: '192.168.0.2'}]}});
  for (const {metadata, spec, status} of services) {
    const made = await client.resource(kinds.services).create({metadata: {...metadata}, spec: {...spec}} as never);
    if (status?.loadBalancer?.ingress?.length)
      await client.resource(kinds.services).update({...made, status: {...status}} as never, {subresource: 'status'});
  }
  for (const each of slices) await client.resource(kinds.endpointSlices).create(each as never);
};

/** The table as nft lists it, with its parts and elements in one order. */
const tableIn = async ({enter: [enter = '', ...flags]}: Namespaces, family: 'ip' | 'ip6'): Promise<readonly string[]> => {
  const text = await run(enter, ...flags, 'nft', 'list', 'table', family, proxyTable.name).catch(() => '');
  const parts = text.split(/^\t(?=\w+ \S+ \{$)/m).slice(1);
  return parts
    .map(part => {
      const lines = part
        .replace(/\n\t?\}\n*$/, '')
        .split('\n')
        .map(line => line.trim());
      const elements = /elements = \{ ([\s\S]*) \}/
        .exec(part)?.[1]
        ?.split(/,\s*/)
        .map(element => element.replaceAll(/\s+/g, ' ').replace(/ expires \S+/, ''));
      const other = elements
        ? lines.slice(
            0,
            lines.findIndex(line => line.startsWith('elements')),
          )
        : lines;
      return [...other, ...(elements ?? []).sort()].filter(line => line !== '' && line !== '}').join('\n');
    })
    .sort();
};

if (missing !== undefined) test(`the table is not compared: ${missing}`, t => t.pass());
else
  for (const family of ['ip', 'ip6'] as const)
    test.serial(`the table of ${family} is that of the original`, async t => {
      t.timeout(120_000);
      await using undo = new Undo();
      const plane = await startPlane({naming: 'kubernetes', controllers: 'none', securePort: 0});
      undo.defer(() => plane.stop());
      await fill(plane.client());
      const original = await startOriginal(plane, undo);
      const ours = await startOurs(plane, undo);
      // The ranges of cluster IPs may become known after the services.
      const isDone = (table: readonly string[]) =>
        family === 'ip6' || table.some(part => part.includes('ns/plain') && part.includes('goto'));
      const complete = (namespaces: Namespaces) =>
        eventually(async () => {
          const table = await tableIn(namespaces, family);
          return table.some(part => part.includes('Drop traffic')) === (family === 'ip') && table.length > 20 && isDone(table)
            ? table
            : undefined;
        });

      t.deepEqual(await complete(ours), await complete(original));
    });
