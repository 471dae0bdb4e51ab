import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Lease, Node} from '#src/api/types.js';
import {problems, refusal, startEnvironment} from './environment.js';
import {namespace} from './namespace.js';

const leaseCases: [title: string, spec: Lease['spec'], expected: string[]][] = [
  ['lasts some time', {leaseDurationSeconds: 0}, ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']],
  ['has not gone back', {leaseTransitions: -1}, ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0']],
  [
    'may be chosen for by a known strategy',
    {strategy: 'Odd'},
    ['spec.strategy.strategy: Unsupported value: "Odd": supported values: "OldestEmulationVersion"'],
  ],
  [
    'prefers a holder by a strategy',
    {preferredHolder: 'me'},
    ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
  ],
];

for (const [title, spec, expected] of leaseCases) {
  test(`a lease ${title}`, async t => {
    const {of} = await startEnvironment({gate: () => true});

    t.deepEqual(await problems(of(kinds.leases).create({metadata: {name: 'l', namespace}, ...(spec ? {spec} : {})})), expected);
  });
}

test('a lease knows no strategy while the gate is off', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(
    (
      await of(kinds.leases).create({
        metadata: {name: 'l', namespace},
        spec: {holderIdentity: 'me', strategy: 'Odd', preferredHolder: 'you'},
      })
    ).spec,
    {holderIdentity: 'me'},
  );
});

test('a lease is made by an update, and updated with its version only', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.leases).update({metadata: {name: 'l', namespace}});
  const {resourceVersion: _, ...metadata} = made.metadata!;

  t.is(
    (await refusal(of(kinds.leases).update({metadata}))).message,
    'leases.coordination.plat.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
});

const nodeCases: [title: string, node: Partial<Node>, expected: string[]][] = [
  [
    'effects are known',
    {spec: {taints: [{key: 'a', effect: 'No'}]}},
    ['metadata.taints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
  ],
  [
    'a key has one taint an effect',
    {
      spec: {
        taints: [
          {key: 'a', effect: 'NoSchedule'},
          {key: 'a', effect: 'NoSchedule', value: 'b'},
        ],
      },
    },
    [
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
    ],
  ],
  [
    'ranges are ranges',
    {spec: {podCIDRs: ['10.0.0.0/33']}},
    ['spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ],
  [
    'one range a family',
    {spec: {podCIDRs: ['10.0.0.0/8', '11.0.0.0/8']}},
    ['spec.podCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one CIDR for each IP family'],
  ],
  [
    'amounts are not negative',
    {status: {capacity: {cpu: '-1'}}},
    [
      'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    ],
  ],
  [
    'pods come whole',
    {status: {capacity: {pods: '1.5'}, allocatable: {cpu: '1'}}},
    ['status.capacity.pods: Invalid value: "1500m": must be an integer'],
  ],
];

for (const [title, node, expected] of nodeCases) {
  test(`nodes: ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.nodes).create({metadata: {name: 'n'}, ...node})), expected);
  });
}

test('a node registers with its status, and allocatable defaults to capacity', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {podCIDR: '10.0.0.0/24'}, status: {capacity: {cpu: '4'}}});

  t.deepEqual(made.status?.allocatable, {cpu: '4'});
  t.deepEqual(made.spec?.podCIDRs, ['10.0.0.0/24']);
});

test('ranges and the provider of a node are given once', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {podCIDR: '10.0.0.0/24', providerID: 'a://1'}});

  t.deepEqual(await problems(of(kinds.nodes).update({...made, spec: {podCIDR: '10.0.1.0/24', providerID: 'a://2'}})), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

test('the table of nodes shows roles and readiness', async t => {
  const {row} = await startEnvironment();
  const node: Node = {
    metadata: {name: 'n', labels: {'node-role.plat.io/worker': '', 'node-role.plat.io/control-plane': '', 'plat.io/role': 'edge'}},
    spec: {unschedulable: true},
    status: {conditions: [{type: 'Ready', status: 'True'}], addresses: [{type: 'InternalIP', address: '10.0.0.1'}]},
  };

  t.like(await row(kinds.nodes, node), {
    Status: 'Ready,SchedulingDisabled',
    Roles: 'control-plane,edge,worker',
    'Internal-IP': '10.0.0.1',
    'External-IP': '<none>',
    'OS-Image': '<unknown>',
  });
  t.like(await row(kinds.nodes, {metadata: {name: 'n'}}), {Status: 'Unknown', Roles: '<none>'});
});
