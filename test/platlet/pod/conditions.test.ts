import test from 'ava';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {conditionStates, conditionTrue} from '#src/platlet/pod/conditions.js';
import {aPod, aStatus} from './objects.js';

const gates = {readinessGates: [{conditionType: 'example.com/a'}, {conditionType: 'example.com/b'}]};
const init = {initContainers: [{name: 'a'}, {name: 's', restartPolicy: 'Always'}]};
const two = {containers: [{name: 'app'}, {name: 'other'}]};
const withConditions = (pod: Pod, ...conditions: readonly (readonly [string, string])[]): Pod => ({
  ...pod,
  status: {conditions: conditions.map(([type, status]) => ({type, status}))},
});

/** The type of the condition, what it is, and why. */
type Row = readonly [
  what: string,
  pod: Pod,
  statuses: readonly ContainerStatus[] | undefined,
  phase: string,
  conditions: Readonly<Record<string, string>>,
];

const rows: readonly Row[] = [
  [
    'everything runs',
    aPod(),
    [aStatus('app', 'started')],
    'Running',
    {Initialized: 'True', ContainersReady: 'True', Ready: 'True', PodScheduled: 'True'},
  ],
  [
    'nothing is known',
    aPod(init),
    undefined,
    'Pending',
    {
      Initialized: 'False UnknownContainerStatuses',
      ContainersReady: 'False UnknownContainerStatuses',
      Ready: 'False UnknownContainerStatuses',
    },
  ],
  ['nothing is known and there is nothing to initialize', aPod(), undefined, 'Pending', {Initialized: 'True'}],
  [
    'init containers run',
    aPod(init),
    [aStatus('a', 'running'), aStatus('s', 'PodInitializing'), aStatus('app', 'PodInitializing')],
    'Pending',
    {
      Initialized: 'False ContainersNotInitialized: containers with incomplete status: [a s]',
      ContainersReady: 'False ContainersNotReady: containers with unready status: [s app]',
      Ready: 'False ContainersNotReady: containers with unready status: [s app]',
    },
  ],
  [
    'some statuses are missing',
    aPod({...init, ...two}),
    [aStatus('a', 0), aStatus('app', 'PodInitializing')],
    'Pending',
    {
      Initialized: 'False ContainersNotInitialized: containers with unknown status: [s]',
      ContainersReady: 'False ContainersNotReady: containers with unknown status: [s other], containers with unready status: [app]',
    },
  ],
  [
    'a sidecar is down beside the others',
    aPod(init),
    [aStatus('a', 0), aStatus('s', 1), aStatus('app', 'started')],
    'Running',
    {Initialized: 'True', ContainersReady: 'False ContainersNotReady: containers with unready status: [s]'},
  ],
  [
    'a pod has succeeded',
    aPod(init),
    [aStatus('a', 0), aStatus('s', 0), aStatus('app', 0)],
    'Succeeded',
    {Initialized: 'True PodCompleted', ContainersReady: 'False PodCompleted', Ready: 'False PodCompleted'},
  ],
  [
    'a pod has failed',
    aPod(),
    [aStatus('app', 1)],
    'Failed',
    {Initialized: 'True', ContainersReady: 'False PodFailed', Ready: 'False PodFailed'},
  ],
  [
    'readiness gates are not there',
    aPod(gates),
    [aStatus('app', 'started')],
    'Running',
    {
      ContainersReady: 'True',
      Ready:
        'False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/a" does not exist., corresponding condition of pod readiness gate "example.com/b" does not exist.',
    },
  ],
  [
    'a readiness gate is not true',
    withConditions(aPod(gates), ['example.com/a', 'True'], ['example.com/b', 'Unknown']),
    [aStatus('app', 'started')],
    'Running',
    {Ready: 'False ReadinessGatesNotReady: the status of pod readiness gate "example.com/b" is not "True", but Unknown'},
  ],
  [
    'readiness gates are true',
    withConditions(aPod(gates), ['example.com/a', 'True'], ['example.com/b', 'True']),
    [aStatus('app', 'started')],
    'Running',
    {Ready: 'True'},
  ],
];

test('conditions say what a pod lacks, in the texts of the original', t => {
  for (const [what, pod, statuses, phase, expected] of rows) {
    const states = conditionStates(pod, {
      statuses: statuses && new Map(statuses.map(status => [status.name, status])),
      phase,
      hasSandbox: true,
    });
    for (const [type, text] of Object.entries(expected)) {
      const {status, reason, message} = states.find(state => state.type === type)!;
      t.is([status, ...(reason ? [reason] : [])].join(' ') + (message ? `: ${message}` : ''), text, `${what}: ${type}`);
    }
  }
});

test('whether there is a sandbox is no condition without its gate', t => {
  const types = (inputs: {hasSandbox?: boolean}) =>
    conditionStates(aPod(), {statuses: new Map(), phase: 'Running', ...inputs}).map(({type}) => type);

  t.deepEqual(types({hasSandbox: true}), ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled']);
  t.deepEqual(types({}), ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled']);
});

test('conditions have an order', t => {
  const states = conditionStates(aPod(), {
    statuses: new Map(),
    phase: 'Running',
    hasSandbox: false,
    resize: [conditionTrue('PodResizeInProgress')],
    disruption: conditionTrue('DisruptionTarget'),
  });
  t.deepEqual(
    states.map(({type, status}) => `${type} ${status}`),
    [
      'PodResizeInProgress True',
      'DisruptionTarget True',
      'PodReadyToStartContainers False',
      'Initialized True',
      'Ready False',
      'ContainersReady False',
      'PodScheduled True',
    ],
  );
});
