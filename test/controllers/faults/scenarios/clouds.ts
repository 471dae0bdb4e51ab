import {kinds} from '#src/api/kinds/index.js';
import {aCloud} from '#test/controllers/clouds.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import type {Stage} from '#test/controllers/faults/stage.js';

const gone = {instances: {gone: {state: 'gone'}, off: {state: 'stopped'}}} as const;

const aService = (stage: Stage, name: string) =>
  stage.make(kinds.services, {metadata: {name}, spec: {type: 'LoadBalancer', ports: [{port: 80}]}});

/**
 * Scenarios of the controllers that use a cloud. Its state is in memory, so that each manager meets a cloud that knows
 * nothing.
 */
export const cloudScenarios: Readonly<Record<string, Scenario>> = {
  'cloud-node-lifecycle': {
    args: aCloud({}, gone).args,
    steps: [
      stage => stage.make(kinds.nodes, ...['gone', 'off', 'on'].map(name => ({metadata: {name}}))),
      stage => stage.change(kinds.nodes, 'off', {status: {conditions: [{type: 'Ready', status: 'True'}]}}, 'status'),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
  'node-route': {
    args: ['--cloud-provider=simulated', '--allocate-node-cidrs', '--cluster-cidr=10.1.0.0/22', '--service-cluster-ip-range=10.2.0.0/24'],
    steps: [
      stage => stage.make(kinds.nodes, {metadata: {name: 'n1'}, spec: {podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24']}}),
      stage =>
        stage.make(
          kinds.nodes,
          {metadata: {name: 'n2'}, spec: {podCIDR: '10.1.1.0/24', podCIDRs: ['10.1.1.0/24']}},
          {metadata: {name: 'n3'}},
        ),
    ],
    touch: kinds.nodes,
    compare: [kinds.nodes],
  },
  'service-lb': {
    args: ['--cloud-provider=simulated'],
    steps: [
      stage => aService(stage, 's'),
      stage => aService(stage, 'kept'),
      stage => stage.change(kinds.services, 's', {spec: {type: 'NodePort'}}),
      stage => stage.change(kinds.services, 's', {spec: {type: 'LoadBalancer'}}),
      stage => stage.remove(kinds.services, 's'),
    ],
    settleMs: 60_000,
    touch: kinds.services,
    compare: [kinds.services],
    blurred: ['clusterIP', 'clusterIPs', 'nodePort'],
  },
};
