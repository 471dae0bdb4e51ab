import test from 'ava';
import {naming} from '#src/api/naming.js';
import {nodeStatusOf, type NodeFacts} from '#src/platlet/node/node-status.js';
import {nodeStatusPatch} from '#src/platlet/node/status-patch.js';

const facts: NodeFacts = {
  machine: {
    machineId: 'm',
    systemId: 's',
    bootId: 'b',
    kernelVersion: '6.1',
    osImage: 'os',
    operatingSystem: 'linux',
    architecture: 'amd64',
    cores: 2,
    memoryBytes: 2 ** 30,
    swapBytes: 0,
    hugepages: {},
    storageBytes: 2 ** 30,
  },
  settings: {maxPods: 110, podsPerCore: 0, localStorage: true, reservation: {agent: new Map(), system: new Map(), threshold: new Map()}},
  version: 'v1.35.0',
  port: 10_250,
  addresses: undefined,
  runtime: undefined,
  runtimeStatus: undefined,
  images: undefined,
  maxImages: 50,
  failures: {pressures: []},
  volumesInUse: undefined,
};
const statusOf = (change: Partial<NodeFacts>, volumesInUse?: string[]) =>
  nodeStatusOf(naming('plat'), {...facts, ...change}, volumesInUse && {volumesInUse}, 0);

test('the volumes in use stay until those of this agent are known, and are shown in order', t => {
  t.is(statusOf({}).volumesInUse, undefined);
  t.deepEqual(statusOf({}, ['csi^old']).volumesInUse, ['csi^old']);
  t.deepEqual(statusOf({volumesInUse: ['b', 'a']}, ['csi^old']).volumesInUse, ['a', 'b']);
  const next = statusOf({volumesInUse: []}, ['csi^old']);
  t.is(next.volumesInUse, undefined);
  t.is(nodeStatusPatch({volumesInUse: ['csi^old']}, next)['volumesInUse'], null);
});

test('addresses that cannot be found leave those of the Node as they are', t => {
  const addresses = [{type: 'InternalIP' as const, address: '10.0.0.1'}];
  t.deepEqual(statusOf({addresses}).addresses, addresses);
  t.deepEqual(nodeStatusOf(naming('plat'), facts, {addresses}, 0).addresses, addresses);
});
