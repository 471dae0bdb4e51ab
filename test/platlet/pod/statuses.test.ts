import test from 'ava';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {containerStatuses, finalStatuses, statusesByName, type ContainerInputs} from '#src/platlet/pod/container-statuses.js';
import {podStatus, rejectedStatus} from '#src/platlet/pod/status.js';
import {illegalTransition, statusPatch} from '#src/platlet/pod/status-patch.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {aPod, aRun, aRuntime, aStatus} from './objects.js';

const inputs = (containers: readonly ContainerInstance[], fields: Partial<ContainerInputs> = {}): ContainerInputs => ({
  runtime: aRuntime(containers),
  waiting: new Map(),
  isStarted: () => true,
  isReady: () => true,
  ...fields,
});

test('regular containers show the health of their devices, whatever was shown before', t => {
  const resources = [{resourceID: 'a', health: 'Unhealthy'}];
  const healthOf = (name: string) => (name === 'app' ? [{name: 'vendor.example/gpu', resources}] : []);
  const shown = (given: Partial<ContainerInputs>): unknown => {
    const pod = {...aPod(), status: before({...aStatus('app', 'started'), allocatedResourcesStatus: [{name: 'old.example/gpu'}]})};
    return containerStatuses(pod, inputs([aRun('app')], given)).containerStatuses?.[0]?.allocatedResourcesStatus;
  };

  t.deepEqual(shown({healthOf}), [{name: 'vendor.example/gpu', resources}]);
  t.is(shown({}), undefined);
});

/** A status in words: state, state before, ready, started, restarts. */
const words = ({state, lastState, ready, started, restartCount}: ContainerStatus): string => {
  const one = ({waiting, running, terminated}: NonNullable<ContainerStatus['state']> = {}) =>
    waiting
      ? [waiting.reason ?? 'waiting', ...(waiting.message ? [`(${waiting.message})`] : [])].join(' ')
      : running
        ? 'running'
        : terminated
          ? `${terminated.reason}(${terminated.exitCode})`
          : 'none';
  return `${one(state)} after ${one(lastState)}${ready ? ' ready' : ''}${started ? ' started' : ''} ${restartCount}`;
};

type Row = readonly [what: string, pod: Pod, inputs: ContainerInputs, status: string];

const before = (...statuses: ContainerStatus[]): NonNullable<Pod['status']> => ({containerStatuses: statuses});
const backingOff = {waiting: new Map([['app', {reason: 'CrashLoopBackOff', message: 'back-off'}]])};
const deleted = {deletionTimestamp: '2026-01-01T00:00:00Z'};
const never = {restartPolicy: 'Never'};

const rows: readonly Row[] = [
  ['it is being created', aPod(), inputs([]), 'ContainerCreating after none 0'],
  ['it waits for init containers', aPod({initContainers: [{name: 'a'}]}), inputs([]), 'PodInitializing after none 0'],
  ['it cannot be pulled', aPod(), inputs([], {waiting: new Map([['app', {reason: 'ErrImagePull'}]])}), 'ErrImagePull after none 0'],
  ['it was created', aPod(), inputs([aRun('app', 'created')]), 'waiting after none 0'],
  ['it runs', aPod(), inputs([aRun('app')]), 'running after none ready started 0'],
  ['it runs and is not ready', aPod(), inputs([aRun('app')], {isReady: () => false}), 'running after none started 0'],
  ['it runs and has not started', aPod(), inputs([aRun('app')], {isStarted: () => false}), 'running after none 0'],
  ['it has ended', aPod(), inputs([aRun('app', 3)]), 'Error(3) after none 0'],
  ['it has completed', aPod(never), inputs([aRun('app', 0)]), 'Completed(0) after none 0'],
  ['it was killed for its memory', aPod(never), inputs([aRun('app', 137, {reason: 'OOMKilled'})]), 'OOMKilled(137) after none 0'],
  ['it runs again', aPod(), inputs([aRun('app', 'running', {attempt: 1}), aRun('app', 3)]), 'running after Error(3) ready started 1'],
  ['it has ended again', aPod(), inputs([aRun('app', 4, {attempt: 1}), aRun('app', 3)]), 'Error(4) after Error(3) 1'],
  [
    'it backs off',
    aPod(),
    inputs([aRun('app', 4, {attempt: 1}), aRun('app', 3)], backingOff),
    'CrashLoopBackOff (back-off) after Error(4) 1',
  ],
  ['it does not back off once it is never started again', aPod(never), inputs([aRun('app', 4)], backingOff), 'Error(4) after none 0'],
  ['it does not back off in a deleted pod', aPod({}, deleted), inputs([aRun('app', 4)], backingOff), 'Error(4) after none 0'],
  ['an old reason is not shown while it runs', aPod(), inputs([aRun('app')], backingOff), 'running after none ready started 0'],
  [
    'the runtime has lost one that ran',
    {...aPod(), status: before(aStatus('app', 'running'))},
    inputs([aRun('app', 'unknown')]),
    'ContainerStatusUnknown(137) after none 1',
  ],
  ['the runtime does not know one that never ran', aPod(), inputs([aRun('app', 'unknown')]), 'waiting after none 0'],
  [
    'one that ran has vanished',
    {...aPod(), status: before(aStatus('app', 'running'))},
    inputs([]),
    'ContainerCreating after ContainerStatusUnknown(137) 1',
  ],
  [
    'one that ran has vanished from a deleted pod',
    {...aPod({}, deleted), status: before(aStatus('app', 'running'))},
    inputs([]),
    'ContainerCreating after ContainerStatusUnknown(137) 0',
  ],
  ['one that has ended was removed', {...aPod(), status: before(aStatus('app', 5))}, inputs([]), 'undefined(5) after none 0'],
  [
    'one that waited keeps its last end',
    {...aPod(), status: before(aStatus('app', 'CrashLoopBackOff', 2))},
    inputs([]),
    'ContainerCreating after undefined(2) 1',
  ],
];

test('the status of a container shows its newest run, the one before, and why it waits', t => {
  for (const [what, pod, of, expected] of rows) t.is(words(containerStatuses(pod, of).containerStatuses![0]!), expected, what);
});

test('a mount is shown as read-only with all below only if its run has it so', t => {
  const volumeMounts = [
    {name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'IfPossible'},
    {name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'IfPossible'},
    {name: 'c', mountPath: '/c'},
  ];
  const pod = aPod({containers: [{name: 'app', volumeMounts}]});
  const mounts = [
    {containerPath: '/a', hostPath: '/1', recursiveReadonly: true},
    {containerPath: '/b', hostPath: '/2'},
  ];
  const shown = containerStatuses(pod, inputs([{...aRun('app'), mounts}])).containerStatuses![0]!.volumeMounts;
  t.deepEqual(shown, [
    {name: 'a', mountPath: '/a', readOnly: true, recursiveReadOnly: 'Enabled'},
    {name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'Disabled'},
    {name: 'c', mountPath: '/c'},
  ]);
});

test('an init container is ready when it has succeeded, a sidecar when it is', t => {
  const pod = aPod({initContainers: [{name: 'b'}, {name: 'a', restartPolicy: 'Always'}]});
  const {initContainerStatuses} = containerStatuses(pod, inputs([aRun('a'), aRun('b', 0)]));
  t.deepEqual(
    initContainerStatuses!.map(status => `${status.name} ${words(status)}`),
    ['b Completed(0) after none ready 0', 'a running after none ready started 0'],
  );
});

test('what did not end in a pod that is over is lost', t => {
  const pod = aPod({initContainers: [{name: 'a'}, {name: 'b'}]});
  const final = (...runs: ContainerInstance[]) =>
    [...statusesByName(finalStatuses(pod, containerStatuses(pod, inputs(runs)))).values()].map(({name, state}) =>
      state?.terminated ? `${name} ${state.terminated.exitCode} ${state.terminated.reason}` : `${name} waiting`,
    );
  t.deepEqual(final(aRun('a', 'created')), ['a 137 ContainerStatusUnknown', 'b waiting', 'app waiting']);
  t.deepEqual(final(aRun('b', 1), aRun('a', 0)), ['a 0 Completed', 'b 1 Error', 'app waiting']);
  t.deepEqual(final(aRun('b', 0), aRun('a', 0)), ['a 0 Completed', 'b 0 Completed', 'app 137 ContainerStatusUnknown']);
});

const statusInputs = {
  ...inputs([aRun('app', 1)]),
  now: 10_000,
  startTime: 1_000,
  hostAddresses: ['192.168.0.1', 'fd00::1'],
  podAddresses: ['10.0.0.2'],
  hasSandbox: true,
};

test('a terminal phase is withheld while something may run, and is final', t => {
  const pod = {...aPod(never), status: {phase: 'Running'}};
  t.is(podStatus(pod, {...statusInputs, stage: 'running'}).phase, 'Running');
  t.is(podStatus(pod, {...statusInputs, stage: 'finished'}).phase, 'Failed');
  const over = {...aPod(), status: {phase: 'Succeeded', reason: 'Kept', startTime: '2026-01-01T00:00:00Z'}};
  t.like(podStatus(over, {...statusInputs, ...inputs([aRun('app')]), stage: 'running'}), {
    phase: 'Succeeded',
    reason: 'Kept',
    startTime: '2026-01-01T00:00:00Z',
  });
});

test('a pod that ends before it ran has failed', t => {
  const pod = {...aPod(), status: {phase: 'Pending'}};
  t.is(podStatus(pod, {...statusInputs, ...inputs([]), stage: 'finished'}).phase, 'Failed');
});

test('a status has the addresses of the node and the pod, and why it failed', t => {
  const pod = aPod();
  t.like(podStatus(pod, {...statusInputs, stage: 'finished', outcome: {reason: 'DeadlineExceeded', message: 'over', isFailure: true}}), {
    phase: 'Failed',
    reason: 'DeadlineExceeded',
    message: 'over',
    observedGeneration: 1,
    hostIP: '192.168.0.1',
    hostIPs: [{ip: '192.168.0.1'}, {ip: 'fd00::1'}],
    podIP: '10.0.0.2',
    podIPs: [{ip: '10.0.0.2'}],
    startTime: '1970-01-01T00:00:01Z',
  });
  t.like(rejectedStatus(pod, {reason: 'OutOfcpu', message: 'no'}, 0), {phase: 'Failed', reason: 'OutOfcpu', message: 'no'});
});

test('a patch leaves the conditions of others and removes the temporary ones', t => {
  const pod: Pod = {
    ...aPod(),
    status: {
      phase: 'Running',
      podIP: '10.0.0.9',
      conditions: [
        {type: 'example.com/a', status: 'True'},
        {type: 'PodResizePending', status: 'True'},
        {type: 'Ready', status: 'False', reason: 'ContainersNotReady'},
      ],
    },
  };
  t.deepEqual(statusPatch(pod, {phase: 'Running', conditions: [{type: 'Ready', status: 'True'}]}), {
    podIP: null,
    '$setElementOrder/conditions': [{type: 'example.com/a'}, {type: 'Ready'}],
    conditions: [
      {type: 'Ready', status: 'True', reason: null},
      {type: 'PodResizePending', $patch: 'delete'},
    ],
  });
  t.is(statusPatch({...pod, status: {phase: 'Running'}}, {phase: 'Running'}), undefined);
});

test('a condition that differs by its probe time alone is not patched', t => {
  const ready = {type: 'Ready', status: 'True', observedGeneration: 1};
  const stored = {...ready, lastProbeTime: null as never};
  t.is(statusPatch({...aPod(), status: {conditions: [stored]}}, {conditions: [ready]}), undefined);
  t.deepEqual(statusPatch({...aPod(), status: {conditions: [{...stored, message: 'm'}]}}, {conditions: [ready]}), {
    '$setElementOrder/conditions': [{type: 'Ready'}],
    conditions: [{...ready, message: null}],
  });
});

test('a patch takes the addresses of before away', t => {
  const pod = {...aPod(), status: {podIP: '10.0.0.1', podIPs: [{ip: '10.0.0.1'}, {ip: 'fd00::1'}]}};
  t.deepEqual(statusPatch(pod, {podIP: '10.0.0.2', podIPs: [{ip: '10.0.0.2'}, {ip: 'fd00::1'}]}), {
    podIP: '10.0.0.2',
    podIPs: [{ip: '10.0.0.2'}, {ip: 'fd00::1'}, {ip: '10.0.0.1', $patch: 'delete'}],
    '$setElementOrder/podIPs': [{ip: '10.0.0.2'}, {ip: 'fd00::1'}],
  });
});

test('a container that has ended for good is not reported as running', t => {
  const pod = {...aPod(never), status: before(aStatus('app', 1))};
  t.is(illegalTransition(pod, {containerStatuses: [aStatus('app', 'running')]}), 'app');
  t.is(illegalTransition(pod, {containerStatuses: [aStatus('app', 1)]}), undefined);
  t.is(illegalTransition({...pod, spec: aPod().spec!}, {containerStatuses: [aStatus('app', 'running')]}), undefined);
  const onFailure = {...aPod({restartPolicy: 'OnFailure'}), status: before(aStatus('app', 0))};
  t.is(illegalTransition(onFailure, {containerStatuses: [aStatus('app', 'running')]}), 'app');
});
