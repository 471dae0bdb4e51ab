import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import type {Pod} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ClaimState} from '#src/platlet/dra/claim-infos.js';
import {containerAllocation} from '#src/platlet/device-manager/messages.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {AssignedOnNode} from '#src/platlet/pod-resources/answers.js';
import {get, getAllocatable, list, listAlpha} from '#src/platlet/pod-resources/messages.js';
import {podResourcesServer, type PodResourcesParts} from '#src/platlet/pod-resources/server.js';
import {PluginClient} from '#src/platlet/rpc/plugin-client.js';
import {folderHost} from '#test/platlet/host.js';

const gpu = 'vendor.example/gpu';
const response = containerAllocation.decode(Buffer.alloc(0));

/** A node on which a container of the first pod has two devices, a CPU and memory. */
const assigned: AssignedOnNode = {
  devices: {
    devicesOf: (uid, container) =>
      uid === 'one' && container === 'app'
        ? new Map([
            [
              gpu,
              {
                devices: new Map([
                  [0, ['a']],
                  [1, ['a']],
                  [-1, ['b']],
                ]),
                response,
              },
            ],
          ])
        : new Map(),
    usable: new Map([
      [
        gpu,
        new Map([
          ['a', {health: 'Healthy', nodes: [0, 1]}],
          ['b', {health: 'Healthy', nodes: undefined}],
        ]),
      ],
    ]),
  },
  cpus: {exclusiveOf: (_, container) => new Set(container === 'app' ? [3, 2] : []), allocatable: new Set([1, 2, 3])},
  claimsOf: () => [],
  memory: {
    blocksOf: (_, container) => (container === 'app' ? [{nodes: [0], type: 'memory', bytes: 2 ** 40}] : []),
    allocatable: [{nodes: [1], type: 'hugepages-2Mi', bytes: 2 ** 21}],
  },
};

const aPod = (name: string): Pod => ({
  metadata: {uid: name, name, namespace: 'default'},
  spec: {
    initContainers: [{name: 'first'}, {name: 'beside', restartPolicy: 'Always'}],
    containers: [{name: 'app'}],
  },
});

/** Calls the server of a node whose pods are `one`, which is active, and `two`, which has finished. */
const called = async (
  t: ExecutionContext,
  parts: Partial<PodResourcesParts>,
  act: (client: PluginClient, clock: VirtualClock) => Promise<void>,
) => {
  using host = folderHost();
  const clock = new VirtualClock();
  const [one, two] = [aPod('one'), aPod('two')];
  let released = 0;
  const pods = {active: [one], shown: [one, two], release: () => void released++};
  const metrics = agentMetrics(noMeter, naming('plat'));
  await using server = podResourcesServer({assigned, pods, listsActive: true, hasGet: true, clock, log: noLog, metrics, ...parts});
  const socket = join(host.root, 'resources.sock');
  await server.listen(socket);
  await using client = new PluginClient({endpoint: socket, clock});
  await act(client, clock);
  t.true(released <= 2);
};

const devices = [
  {resourceName: gpu, deviceIds: ['a'], topology: {nodes: [{id: 0}]}},
  {resourceName: gpu, deviceIds: ['a'], topology: {nodes: [{id: 1}]}},
  {resourceName: gpu, deviceIds: ['b'], topology: undefined},
];
const app = {
  name: 'app',
  devices,
  cpuIds: [2, 3],
  memory: [{memoryType: 'memory', size: 2 ** 40, topology: {nodes: [{id: 0}]}}],
  dynamicResources: [],
};

test('the resources of pods are listed: of active ones, or of all for the older service', t =>
  called(t, {}, async client => {
    const beside = {name: 'beside', devices: [], cpuIds: [], memory: [], dynamicResources: []};
    t.deepEqual((await client.call(list, {})).podResources, [{name: 'one', namespace: 'default', containers: [beside, app]}]);
    t.deepEqual(
      (await client.call(listAlpha, {})).podResources.map(({name, containers}) => [name, containers]),
      [
        ['one', [{name: 'app', devices: devices.map(({resourceName, deviceIds}) => ({resourceName, deviceIds}))}]],
        ['two', [{name: 'app', devices: []}]],
      ],
    );
  }));

test('without the gate for active pods all are listed', t =>
  called(t, {listsActive: false}, async client => {
    const {podResources} = await client.call(list, {});
    t.deepEqual(
      podResources.map(({name}) => name),
      ['one', 'two'],
    );
  }));

test('the claims of containers are told with their devices, if the gate says so', t => {
  const claim: ClaimState = {
    uid: 'u',
    name: 'claim',
    namespace: 'default',
    pods: new Set(['one']),
    drivers: new Map([
      [
        'driver.example',
        [
          {pool: 'pool', device: 'a', share: 's', requests: [], cdiIds: ['v/c=a']},
          {pool: 'pool', device: 'b', requests: [], cdiIds: ['v/c=b']},
        ],
      ],
    ]),
  };
  const claimsOf = (_: unknown, {name}: {readonly name: string}) => (name === 'app' ? [claim] : []);
  return called(t, {assigned: {...assigned, claimsOf}}, async client => {
    const [, one] = (await client.call(list, {})).podResources[0]!.containers;
    const shared = {driverName: 'driver.example', poolName: 'pool'};
    t.deepEqual(one?.dynamicResources, [
      {
        claimName: 'claim',
        claimNamespace: 'default',
        claimResources: [
          {...shared, cdiDevices: [{name: 'v/c=a'}], deviceName: 'a', shareId: 's'},
          {...shared, cdiDevices: [{name: 'v/c=a'}, {name: 'v/c=b'}], deviceName: 'b', shareId: ''},
        ],
      },
    ]);
  });
});

test('what a node has for containers is told', t =>
  called(t, {}, async client => {
    t.deepEqual(await client.call(getAllocatable, {}), {
      devices,
      cpuIds: [1, 2, 3],
      memory: [{memoryType: 'hugepages-2Mi', size: 2 ** 21, topology: {nodes: [{id: 1}]}}],
    });
  }));

test('a single pod may be asked for, with the gate and while it is active', async t => {
  await called(t, {}, async client => {
    t.is((await client.call(get, {podName: 'one', podNamespace: 'default'})).podResources?.name, 'one');
    for (const [podName, podNamespace] of [
      ['two', 'default'],
      ['one', 'other'],
    ] as const)
      await t.throwsAsync(client.call(get, {podName, podNamespace}), {
        message: `rpc error: code = Unknown desc = pod ${podName} in namespace ${podNamespace} not found`,
      });
  });
  await called(t, {hasGet: false}, client =>
    t
      .throwsAsync(client.call(get, {podName: 'two', podNamespace: 'default'}), {
        message: 'rpc error: code = Unknown desc = PodResources API Get method disabled',
      })
      .then(() => {}),
  );
});

test('more than a hundred calls a second are refused, beyond ten at once', t =>
  called(t, {}, async (client, clock) => {
    for (let count = 0; count < 10; count++) await client.call(getAllocatable, {});
    await t.throwsAsync(client.call(getAllocatable, {}), {
      message: 'rpc error: code = ResourceExhausted desc = rejected by rate limit',
    });
    await clock.advance(10);
    await client.call(getAllocatable, {});
  }));
