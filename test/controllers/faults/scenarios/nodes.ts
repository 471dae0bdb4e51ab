import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import type {Stage} from '#test/controllers/faults/stage.js';
import {aPod, nodes, nodeWith, named} from './objects.js';

const isReady = (stage: Stage, name: string, status = 'True') => {
  const time = wireTime(stage.clock.now());
  return stage.change(
    kinds.nodes,
    name,
    {status: {conditions: [{type: 'Ready', status, lastHeartbeatTime: time, lastTransitionTime: time}]}},
    'status',
  );
};

/** Scenarios of the controllers of nodes. */
export const nodeScenarios: Readonly<Record<string, Scenario>> = {
  'node-ipam': {
    args: ['--allocate-node-cidrs', '--cluster-cidr=10.1.0.0/22', '--service-cluster-ip-range=10.1.1.0/24'],
    steps: [
      stage => stage.make(kinds.nodes, nodeWith('n1')),
      stage => stage.make(kinds.nodes, nodeWith('n2', {podCIDR: '10.1.2.0/24', podCIDRs: ['10.1.2.0/24']})),
      stage => stage.make(kinds.nodes, nodeWith('n3')),
      // There is no room left, until a node goes.
      stage => stage.make(kinds.nodes, nodeWith('n4')),
      stage => stage.remove(kinds.nodes, 'n2'),
      stage => stage.change(kinds.nodes, 'n4', {metadata: {labels: {again: 'yes'}}}),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
  'node-lifecycle': {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('up'), nodeWith('down'));
        await stage.make(kinds.pods, aPod('p', {nodeName: 'down'}));
        for (const name of ['up', 'down']) await isReady(stage, name);
        await nodes(stage);
      },
      async stage => {
        for (let beat = 0; beat < 8; beat++) {
          await isReady(stage, 'up');
          await stage.clock.advance(30_000);
        }
      },
      stage => isReady(stage, 'up'),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes, kinds.pods],
  },
  'taint-eviction': {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('n1'));
        const forAWhile = [{key: 'bad', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10}];
        await stage.make(
          kinds.pods,
          aPod('one', {nodeName: 'n1'}),
          aPod('two', {nodeName: 'n1', tolerations: forAWhile}),
          aPod('ever', {nodeName: 'n1', tolerations: [{operator: 'Exists'}]}),
        );
      },
      stage => stage.change(kinds.nodes, 'n1', {spec: {taints: [{key: 'bad', effect: 'NoExecute'}]}}),
    ],
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  ttl: {
    steps: [
      stage => stage.make(kinds.nodes, ...named('one', 'two')),
      stage => stage.change(kinds.nodes, 'one', {metadata: {annotations: {[stage.naming.subKey('node.alpha', 'ttl')]: '7'}}}),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
};
