import {kinds} from '#src/api/kinds/index.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import type {Stage} from '#test/controllers/faults/stage.js';
import {labels, aPod} from './objects.js';

const aService = async (stage: Stage) => {
  await stage.make(kinds.services, {metadata: {name: 's'}, spec: {selector: labels, ports: [{port: 80}]}});
  await stage.make(kinds.pods, ...['one', 'two', 'three'].map(name => aPod(name, {nodeName: 'n1'})));
};

const withAddresses = async (stage: Stage, state: 'Ready' | 'NotReady', ...only: readonly string[]) => {
  for (const [i, name] of ['one', 'two', 'three'].entries()) {
    if (only.length > 0 && !only.includes(name)) continue;
    const podIP = `10.2.0.${i + 1}`;
    await stage.change(
      kinds.pods,
      name,
      {
        status: {
          phase: 'Running',
          podIP,
          podIPs: [{ip: podIP}],
          conditions: [{type: 'Ready', status: state === 'Ready' ? 'True' : 'False'}],
        },
      },
      'status',
    );
  }
};

/** Scenarios of the controllers of services and their endpoints. */
export const endpointScenarios: Readonly<Record<string, Scenario>> = {
  endpoints: {
    steps: [
      aService,
      stage => withAddresses(stage, 'Ready'),
      stage => withAddresses(stage, 'NotReady', 'two'),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
      stage => stage.remove(kinds.services, 's'),
    ],
    touch: kinds.services,
    compare: [kinds.endpoints],
  },
  endpointslice: {
    args: ['--max-endpoints-per-slice=2'],
    steps: [
      aService,
      stage => withAddresses(stage, 'Ready'),
      stage => withAddresses(stage, 'NotReady', 'two'),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
    ],
    touch: kinds.services,
    compare: [kinds.endpointSlices],
  },
  'endpointslice-mirroring': {
    steps: [
      async stage => {
        await stage.make(kinds.services, {metadata: {name: 's'}, spec: {ports: [{port: 80}]}});
        await stage.make(kinds.endpoints, {metadata: {name: 's'}, subsets: [{addresses: [{ip: '10.3.0.1'}], ports: [{port: 80}]}]});
      },
      stage => stage.change(kinds.endpoints, 's', {subsets: [{addresses: [{ip: '10.3.0.1'}, {ip: '10.3.0.2'}], ports: [{port: 80}]}]}),
      stage => stage.remove(kinds.endpoints, 's'),
    ],
    touch: kinds.endpoints,
    compare: [kinds.endpointSlices],
  },
  'service-cidr': {
    steps: [
      stage =>
        stage.make(
          kinds.serviceCIDRs,
          {metadata: {name: 'more'}, spec: {cidrs: ['192.168.0.0/24']}},
          {metadata: {name: 'stays'}, spec: {cidrs: ['192.168.1.0/24']}},
        ),
      stage => stage.remove(kinds.serviceCIDRs, 'more'),
    ],
    touch: kinds.serviceCIDRs,
    compare: [kinds.serviceCIDRs],
  },
};
