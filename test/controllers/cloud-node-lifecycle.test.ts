// The scenarios of upstream's cloud-provider/controllers/nodelifecycle/node_lifecycle_controller_test.go:
// Test_NodesDeleted and Test_NodesShutdown. Rows for clouds of the first interface of instances are those of the
// second, since there is one interface here. Test_GetProviderID does not apply: the cloud is asked about a node, not
// about an ID; nor does a machine that is both shut down and gone, since a simulated one has one state.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {aCloud} from './clouds.js';
import {aPlane} from './plane.js';

const shutdown = 'node.cloudprovider.plat.io/shutdown';
const uninitialized = {key: 'node.cloudprovider.plat.io/uninitialized', value: 'true', effect: 'NoSchedule'};
const period = 5_000;

const aWatchedPlane = async (
  configuration: object = {},
  instances: Record<string, {state: 'running' | 'stopped' | 'gone'; providerID?: string}> = {},
) => {
  const cloud = aCloud(configuration, {instances});
  const plane = await aPlane({controllers: ['cloud-node-lifecycle-controller'], controllerManagerArgs: cloud.args});
  const {clock} = plane;
  const client = plane.client();
  const nodes = client.resource(kinds.nodes);
  const setReady = (name: string, status: string | undefined) =>
    nodes.patch(name, 'merge', {status: {conditions: status ? [{type: 'Ready', status}] : []}}, {subresource: 'status'});
  return {
    cloud,
    plane,
    clock,
    nodes,
    setReady,
    async make(name: string, ready: string | undefined, spec: object = {}) {
      await nodes.create({metadata: {name}, spec});
      await setReady(name, ready);
    },
    stateOf: async (name: string): Promise<string> => {
      try {
        return (await nodes.get(name)).spec?.taints?.some(({key}) => key === shutdown) ? 'tainted' : 'there';
      } catch (error) {
        if (isNotFound(error)) return 'deleted';
        throw error;
      }
    },
    async reasons() {
      await clock.advance(1_000);
      return (await client.resource(kinds.events).list({namespace: 'default'})).items.map(({reason}) => reason!).sort();
    },
    [Symbol.asyncDispose]: () => plane.stop(),
  };
};

const cases: readonly (readonly [
  what: string,
  ready: string | undefined,
  spec: object,
  machine: 'running' | 'stopped' | 'gone',
  end: string,
])[] = [
  ['is ready and runs', 'True', {}, 'running', 'there'],
  ['is ready, although its machine is said to be gone', 'True', {}, 'gone', 'there'],
  ['is not ready and runs', 'False', {}, 'running', 'there'],
  ['is not ready and is gone', 'False', {}, 'gone', 'deleted'],
  ['is unknown and is gone', 'Unknown', {}, 'gone', 'deleted'],
  ['has no condition and is gone', undefined, {}, 'gone', 'deleted'],
  ['is not ready and is shut down', 'False', {}, 'stopped', 'tainted'],
  ['is unknown and is shut down', 'Unknown', {}, 'stopped', 'tainted'],
  ['has a provider id and is shut down', 'False', {providerID: 'simulated:///other'}, 'stopped', 'tainted'],
  ['has a provider id and is ready, although its machine is said to be gone', 'True', {providerID: 'simulated:///other'}, 'gone', 'there'],
  ['has a provider id, is not ready and runs', 'False', {providerID: 'simulated:///other'}, 'running', 'there'],
  ['is unknown and runs', 'Unknown', {}, 'running', 'there'],
  ['is ready and is said to be shut down', 'True', {}, 'stopped', 'there'],
  ['is found by its provider id', 'False', {providerID: 'simulated:///other'}, 'gone', 'deleted'],
];
for (const [what, ready, spec, machine, end] of cases) {
  test(`a node that ${what}: ${end}`, async t => {
    const byId = 'providerID' in spec;
    await using at = await aWatchedPlane(
      {},
      {[byId ? 'other' : 'n']: {state: machine, ...(byId ? {providerID: 'simulated:///other'} : {})}},
    );
    await at.make('n', ready, spec);
    await at.clock.advance(period);

    t.is(await at.stateOf('n'), end);
    t.deepEqual(await at.reasons(), end === 'deleted' ? ['DeletingNode'] : []);
  });
}

test('a node that is started again loses the taint when it is ready', async t => {
  await using at = await aWatchedPlane({}, {n: {state: 'stopped'}});
  const {cloud, clock, make, setReady, stateOf} = at;
  await make('n', 'Unknown');
  await clock.advance(period);
  t.is(await stateOf('n'), 'tainted');
  cloud.set({instances: {}});
  await clock.advance(period);
  t.is(await stateOf('n'), 'tainted');
  await setReady('n', 'True');
  await clock.advance(period);
  t.is(await stateOf('n'), 'there');
});

for (const ready of ['False', 'Unknown']) {
  test(`a new node without a provider id whose readiness is ${ready} has a minute`, async t => {
    await using at = await aWatchedPlane({}, {n: {state: 'gone'}});
    await at.make('n', ready, {taints: [uninitialized]});
    await at.clock.advance(60_000 - 1);
    t.is(await at.stateOf('n'), 'there');
    await at.clock.advance(period);
    t.is(await at.stateOf('n'), 'deleted');
  });
}

test('a node that is gone is deleted although the cloud does not know whether it is shut down', async t => {
  await using at = await aWatchedPlane({faults: [{call: 'instances.isShutDown', error: 'not now'}]}, {n: {state: 'gone'}});
  await at.make('n', 'False');
  await at.clock.advance(period);

  t.is(await at.stateOf('n'), 'deleted');
});

test('a cloud that fails, or does not know, changes nothing', async t => {
  await using at = await aWatchedPlane(
    {
      faults: [
        {call: 'instances.exists', of: 'gone', error: 'not now'},
        {call: 'instances.isShutDown', of: 'off', notImplemented: true},
        {call: 'instances.isShutDown', of: 'unclear', error: 'not now'},
      ],
    },
    {gone: {state: 'gone'}, off: {state: 'stopped'}, unclear: {state: 'stopped'}, lost: {state: 'gone'}},
  );
  const {clock, make, stateOf} = at;
  for (const name of ['gone', 'off', 'unclear', 'lost']) await make(name, 'Unknown');
  await clock.advance(period);

  t.deepEqual(await Promise.all(['gone', 'off', 'unclear', 'lost'].map(stateOf)), ['there', 'there', 'there', 'deleted']);
});
