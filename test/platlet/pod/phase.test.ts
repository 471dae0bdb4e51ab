import test from 'ava';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import {phaseOf, type Phase} from '#src/platlet/pod/phase.js';
import {aPod, aStatus} from './objects.js';

const two = [{name: 'app'}, {name: 'other'}];
const init = [{name: 'a'}, {name: 'b'}];
const sidecar = [{name: 's', restartPolicy: 'Always'}];
const never = {restartPolicy: 'Never'};
const onFailure = {restartPolicy: 'OnFailure'};

type Row = readonly [what: string, pod: Pod, statuses: readonly ContainerStatus[], phase: Phase, isEnding?: boolean];

const rows: readonly Row[] = [
  ['nothing is known', aPod(), [], 'Pending'],
  ['a container is being created', aPod(), [aStatus('app', 'ContainerCreating')], 'Pending'],
  ['an image cannot be pulled', aPod(), [aStatus('app', 'ImagePullBackOff')], 'Pending'],
  ['a container runs', aPod(), [aStatus('app', 'running')], 'Running'],
  [
    'one runs, one is being created',
    aPod({containers: two}),
    [aStatus('app', 'running'), aStatus('other', 'ContainerCreating')],
    'Pending',
  ],
  ['one runs, of one nothing is known', aPod({containers: two}), [aStatus('app', 'running')], 'Pending'],
  ['one runs, one has ended', aPod({...never, containers: two}), [aStatus('app', 'running'), aStatus('other', 1)], 'Running'],
  ['one has ended and is restarted', aPod(), [aStatus('app', 0)], 'Running'],
  ['one backs off', aPod(), [aStatus('app', 'CrashLoopBackOff', 1)], 'Running'],
  ['one backs off while the pod goes', aPod(), [aStatus('app', 'CrashLoopBackOff', 1)], 'Failed', true],
  ['one has succeeded', aPod(never), [aStatus('app', 0)], 'Succeeded'],
  ['one has failed', aPod(never), [aStatus('app', 2)], 'Failed'],
  ['one has succeeded, one has failed', aPod({...never, containers: two}), [aStatus('app', 0), aStatus('other', 1)], 'Failed'],
  ['one has failed and is restarted on failure', aPod(onFailure), [aStatus('app', 1)], 'Running'],
  ['one has succeeded of those that restart on failure', aPod(onFailure), [aStatus('app', 0)], 'Succeeded'],
  ['one of two is restarted on failure', aPod({...onFailure, containers: two}), [aStatus('app', 0), aStatus('other', 1)], 'Running'],
  ['a deleted pod whose container succeeded', aPod(), [aStatus('app', 0)], 'Succeeded', true],
  ['a deleted pod whose container was killed', aPod(), [aStatus('app', 137)], 'Failed', true],
  ['a deleted pod that still runs', aPod(), [aStatus('app', 'running')], 'Running', true],
  [
    'its own policy restarts a container',
    aPod({...never, containers: [{name: 'app', restartPolicy: 'OnFailure'}]}),
    [aStatus('app', 1)],
    'Running',
  ],
  ['an init container runs', aPod({initContainers: init}), [aStatus('a', 'running'), aStatus('app', 'PodInitializing')], 'Pending'],
  ['an init container is missing', aPod({initContainers: init}), [aStatus('a', 0), aStatus('app', 'running')], 'Pending'],
  [
    'an init container waits for its restart',
    aPod({initContainers: init}),
    [aStatus('a', 'CrashLoopBackOff', 1), aStatus('b', 'PodInitializing'), aStatus('app', 'PodInitializing')],
    'Pending',
  ],
  [
    'an init container has failed for good',
    aPod({...never, initContainers: init}),
    [aStatus('a', 1), aStatus('b', 'PodInitializing'), aStatus('app', 'PodInitializing')],
    'Failed',
  ],
  [
    'init containers have succeeded',
    aPod({initContainers: init}),
    [aStatus('a', 0), aStatus('b', 0), aStatus('app', 'running')],
    'Running',
  ],
  ['a sidecar has not started', aPod({initContainers: sidecar}), [aStatus('s', 'running'), aStatus('app', 'PodInitializing')], 'Pending'],
  [
    'a sidecar starts again beside the others',
    aPod({initContainers: sidecar}),
    [aStatus('s', 'running', 1), aStatus('app', 'running')],
    'Running',
  ],
  [
    'a sidecar waits for its restart',
    aPod({initContainers: sidecar}),
    [aStatus('s', 'CrashLoopBackOff', 1), aStatus('app', 'running')],
    'Running',
  ],
  [
    'a sidecar runs when all others are done',
    aPod({...never, initContainers: sidecar}),
    [aStatus('s', 'started'), aStatus('app', 0)],
    'Running',
  ],
  ['a sidecar has ended with the others', aPod({...never, initContainers: sidecar}), [aStatus('s', 137), aStatus('app', 0)], 'Succeeded'],
  [
    'ephemeral containers do not count',
    aPod({ephemeralContainers: [{name: 'e'}]}),
    [aStatus('app', 'running'), aStatus('e', 1)],
    'Running',
  ],
];

test('the phase of a pod follows from the statuses of its containers', t => {
  for (const [what, pod, statuses, phase, isEnding = false] of rows)
    t.is(phaseOf(pod, new Map(statuses.map(status => [status.name, status])), isEnding), phase, what);
});
