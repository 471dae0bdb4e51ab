// The scenarios of upstream's cloud-provider/controllers/service/controller_test.go about nodes:
// Test_shouldSyncUpdatedNode_individualPredicates and _compoundedPredicates, TestUpdateNodesInExternalLoadBalancer,
// TestNodeChangesForStableNodeSetEnabled, TestNodeChangesInExternalLoadBalancer, TestNodesNotEqual and
// TestSlowNodeSync. The rows of an unreadable list of nodes do not apply: it is a cache, which cannot fail.

import test from 'ava';
import {balancerMetrics} from '#controllers/service-lb/metrics.js';
import {nodeSync, type Balanced} from '#controllers/service-lb/nodes.js';
import {isNodeChange} from '#controllers/service-lb/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {CloudNode, CloudService, LoadBalancers} from '#src/runtime/cloud.js';
import {singletonKey} from '#src/runtime/controller.js';
import {aBalancedPlane} from './balancers.js';
import {attempt, contextOver} from './context.js';

const naming = namingOf('plat');
const excluded = 'node.plat.io/exclude-from-external-load-balancers';
const autoscaled = {key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule'};

/** What may be true of a node. */
interface Traits {
  readonly excluded?: string;
  readonly tainted?: boolean;
  readonly ready?: string;
  readonly id?: string;
  readonly other?: Partial<Node>;
}
const aNode = ({excluded: label, tainted, ready = 'True', id = 'p', other = {}}: Traits): Node => ({
  metadata: {name: 'n', labels: label === undefined ? {} : {[excluded]: label}, ...other.metadata},
  spec: {...(id ? {providerID: id} : {}), taints: tainted ? [autoscaled] : [], ...other.spec},
  status: {conditions: ready ? [{type: 'Ready', status: ready}] : [], ...other.status},
});
const pressed = (status: string): Traits => ({
  other: {
    status: {
      conditions: [
        {type: 'Ready', status: 'True'},
        {type: 'DiskPressure', status},
      ],
    },
  },
});

const changes: readonly (readonly [what: string, from: Traits, to: Traits, matters: boolean])[] = [
  ['nothing', {}, {}, false],
  ['being excluded', {}, {excluded: ''}, true],
  ['being excluded, back', {excluded: ''}, {}, true],
  ['the value that excludes it', {excluded: ''}, {excluded: 'true'}, false],
  ['the taint of the autoscaler', {}, {tainted: true}, false],
  ['the taint of the autoscaler, back', {tainted: true}, {}, false],
  ['another taint', {}, {other: {spec: {taints: [{key: 'other', effect: 'NoSchedule'}]}}}, false],
  ['another taint, back', {other: {spec: {taints: [{key: 'other', effect: 'NoSchedule'}]}}}, {}, false],
  ['another label', {}, {other: {metadata: {labels: {other: ''}}}}, false],
  ['another label, back', {other: {metadata: {labels: {other: ''}}}}, {}, false],
  ['readiness', {ready: 'False'}, {ready: 'True'}, false],
  ['readiness, back', {ready: 'True'}, {ready: 'False'}, false],
  ['readiness that disappears', {ready: 'False'}, {ready: ''}, false],
  ['readiness that appears', {ready: ''}, {ready: 'False'}, false],
  ['another condition', pressed('False'), pressed('True'), false],
  ['another condition, back', pressed('True'), pressed('False'), false],
  ['its deletion', {}, {other: {metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}}, false],
  ['a provider id that appears', {id: ''}, {id: 'p'}, true],
  ['a provider id that disappears', {id: 'p'}, {id: ''}, true],
  ['the provider id', {id: 'p'}, {id: 'q'}, true],
];
const others: readonly (readonly [of: string, traits: Traits])[] = [
  ['', {}],
  [' that the autoscaler has tainted', {tainted: true}],
  [' that is excluded', {excluded: ''}],
  [' that is not ready', {ready: 'False'}],
  [' without a provider id', {id: ''}],
];
for (const [of, traits] of others) {
  for (const [what, from, to, matters] of changes) {
    const touched = Object.keys({...from, ...to});
    if (Object.keys(traits).some(trait => touched.includes(trait)) || (of && touched.includes('other'))) continue;
    test(`a change of ${what}, of a node${of}, ${matters ? 'reaches' : 'does not reach'} the load balancers`, t => {
      t.is(isNodeChange(aNode({...traits, ...from}), aNode({...traits, ...to}), naming), matters);
    });
  }
}

type At = Awaited<ReturnType<typeof aBalancedPlane>>;
const patched =
  (...bodies: readonly object[]) =>
  async ({nodes}: At) => {
    for (const body of bodies) await nodes.patch('n2', 'merge', body, 'status' in body ? {subresource: 'status'} : {});
  };
const condition = (status: string) => ({status: {conditions: [{type: 'Ready', status}]}});

/**
 * What changes about the second of three nodes, and the nodes that load balancers have then; undefined if they are not
 * called.
 */
const updates: readonly (readonly [what: string, change: (at: At) => Promise<unknown>, hosts: readonly string[] | undefined])[] = [
  ['nothing changes', patched(), undefined],
  ['a node is added', ({nodes}) => nodes.create({metadata: {name: 'n4'}}), ['n1', 'n2', 'n3', 'n4']],
  ['a node is not ready', patched(condition('False')), undefined],
  ['a node becomes ready', patched(condition('False'), condition('True')), undefined],
  ['a node gets the taint of the autoscaler', patched({spec: {taints: [autoscaled]}}), ['n1', 'n3']],
  ['a node gets another taint', patched({spec: {taints: [{key: 'other', effect: 'NoSchedule'}]}}), undefined],
  ['a node is excluded', patched({metadata: {labels: {[excluded]: ''}}}), ['n1', 'n3']],
  ['a node is deleted', ({nodes}) => nodes.delete('n2'), ['n1', 'n3']],
  [
    'a node is being deleted',
    async ({nodes}) => {
      await nodes.patch('n2', 'merge', {metadata: {finalizers: ['example.com/wait']}});
      await nodes.delete('n2');
    },
    ['n1', 'n3'],
  ],
  ['a node gets a provider id', patched({spec: {providerID: 'simulated:///n2'}}), ['n1', 'n2', 'n3']],
  [
    'a node is replaced',
    async ({nodes}) => {
      await nodes.delete('n2');
      await nodes.create({metadata: {name: 'n5'}});
    },
    ['n1', 'n3', 'n5'],
  ],
];
for (const [what, change, hosts] of updates) {
  test(`all load balancers ${hosts ? `get the nodes ${hosts.join(', ')}` : 'keep their nodes'} if ${what}`, async t => {
    await using at = await aBalancedPlane();
    const {cloud, clock, client, nodes, make} = at;
    for (const name of ['n1', 'n2', 'n3']) await nodes.create({metadata: {name}});
    for (const name of ['s1', 's2', 's3']) await make(name);
    await make('inner', {type: 'ClusterIP'});
    await make('port', {type: 'NodePort'});
    await change(at);
    // Some changes are not waited for; this node starts the loop and is no host.
    await nodes.create({metadata: {name: 'spare', labels: {[excluded]: ''}}});
    await clock.drain();

    await clock.advance(1_000);
    const events = (await client.resource(kinds.events).list({namespace: 'default'})).items;
    const updated = events.filter(({reason}) => reason === 'UpdatedLoadBalancer').map(({regarding}) => regarding?.name);
    t.deepEqual([...new Set(updated)].sort(), hosts ? ['s1', 's2', 's3'] : []);
    for (const {nodes: found} of Object.values(cloud.state().loadBalancers)) t.deepEqual([...found].sort(), hosts ?? ['n1', 'n2', 'n3']);
  });
}

test('nodes that a slow update overwrites are given to the load balancer again', async t => {
  await using at = await aBalancedPlane();
  const service: CloudService = {metadata: {namespace: 'default', name: 's'}, spec: {type: 'LoadBalancer'}};
  const namesOf = (nodes: readonly CloudNode[]) => nodes.map(({metadata}) => metadata?.name);
  const nodes: Node[] = [{metadata: {name: 'n1'}}, {metadata: {name: 'n2'}}];
  const known = new Map<string, Balanced>([['default/s', {service, nodes: nodes.slice(0, 1)}]]);
  const updates: unknown[] = [];
  const balancers: LoadBalancers = {
    name: () => 's',
    get: () => Promise.resolve({}),
    ensure: () => Promise.resolve({}),
    update(_, __, given) {
      updates.push(namesOf(given));
      // Meanwhile a node appears and the service's own loop gives it to the load balancer, before this update arrives there.
      if (updates.length === 1) {
        nodes.push({metadata: {name: 'n3'}});
        known.set('default/s', {service, nodes: [...nodes]});
      }
      return Promise.resolve();
    },
    ensureDeleted: () => Promise.resolve(),
  };
  const context = contextOver(at.plane, [], {clusterName: 'mine'});
  const reconcile = nodeSync({context, balancers, known, eligibleNodes: () => [...nodes]}, balancerMetrics(context.meter));
  await reconcile(singletonKey, attempt);
  await reconcile(singletonKey, attempt);

  t.deepEqual(updates, [
    ['n1', 'n2'],
    ['n1', 'n2', 'n3'],
  ]);
});
