import test from 'ava';
import {naming} from '#src/api/naming.js';
import {nodeFactsOf} from '#src/platlet/agent/admission.js';
import type {Pod} from '#src/api/pod.js';
import {computeActions, isDefinitionChanged} from '#src/platlet/pod/actions.js';
import {containerHash, hashAnnotation} from '#src/platlet/pod/hash.js';
import type {ProbeResult} from '#src/platlet/pod/probe-results.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {aPod, aRun, aRuntime, aSandbox} from './objects.js';

/** What is to be done, in words. */
const actionsOf = (pod: Pod, runtime: RuntimePod, probes: Record<string, ProbeResult> = {}, restartAll = false): string => {
  const {
    killPod,
    createSandbox,
    attempt,
    toKill,
    restartAll: all,
    ephemeral,
    initContainers,
    containers,
  } = computeActions(pod, {
    runtime,
    probes: {resultOf: (kind, id) => probes[`${kind} ${id}`]},
    gates: {restartAll},
    isChanged: isDefinitionChanged,
  });
  const list = (word: string, names: readonly string[]) => (names.length > 0 ? [`${word} ${names.join(' ')}`] : []);
  return [
    ...(killPod ? ['kill pod'] : []),
    ...toKill.map(({instance, message, reason}) => `kill ${instance.id} (${reason}: ${message})`),
    ...(all ? ['restart all'] : []),
    ...(createSandbox ? [`sandbox ${attempt}`] : []),
    ...list('ephemeral', ephemeral),
    ...list('init', initContainers),
    ...list('start', containers),
  ].join(', ');
};

const two = [
  {name: 'app', image: 'app'},
  {name: 'other', image: 'other'},
];
const init = (...names: string[]) => names.map(name => ({name, image: name}));
const sidecar = (name: string, more: object = {}) => ({name, image: name, restartPolicy: 'Always', ...more});
const probe = {exec: {command: ['true']}};
const rules = (action: string, ...values: number[]) => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{action, exitCodes: {operator: 'In', values}}],
});
const deleted = {deletionTimestamp: '2026-01-01T00:00:00Z'};
const hashed = (image: string) => ({annotations: {[hashAnnotation]: containerHash({name: 'app', image})}});

type Row = readonly [
  what: string,
  pod: Pod,
  runtime: RuntimePod,
  actions: string,
  probes?: Record<string, ProbeResult>,
  restartAll?: boolean,
];

const sandboxes: readonly Row[] = [
  ['a new pod gets its sandbox and all containers', aPod({containers: two}), aRuntime([], []), 'kill pod, sandbox 0, start app other'],
  [
    'a new pod begins with its first init container',
    aPod({initContainers: init('a', 'b')}),
    aRuntime([], []),
    'kill pod, sandbox 0, init a',
  ],
  ['a pod in its sandbox needs nothing while it runs', aPod(), aRuntime([aRun('app')]), ''],
  ['a dead sandbox is replaced', aPod(), aRuntime([aRun('app')], [aSandbox({isReady: false})]), 'kill pod, sandbox 1, start app'],
  ['two sandboxes are replaced by a third', aPod(), aRuntime([], [aSandbox({attempt: 1}), aSandbox()]), 'kill pod, sandbox 2, start app'],
  [
    'the newest sandbox counts, wherever it stands',
    aPod(),
    aRuntime([aRun('app')], [aSandbox({isReady: false}), aSandbox({attempt: 1})]),
    '',
  ],
  [
    'of one attempt the later sandbox counts',
    aPod(),
    aRuntime([], [aSandbox({createdAt: 1, isReady: false}), aSandbox({createdAt: 2})]),
    'start app',
  ],
  ['a sandbox without an address is replaced', aPod(), aRuntime([], [aSandbox({addresses: []})]), 'kill pod, sandbox 1, start app'],
  [
    'a sandbox in the network of the host needs no address',
    aPod({hostNetwork: true}),
    aRuntime([], [aSandbox({addresses: [], usesHostNetwork: true})]),
    'start app',
  ],
  ['a sandbox in the wrong network is replaced', aPod({hostNetwork: true}), aRuntime([], [aSandbox()]), 'kill pod, sandbox 1, start app'],
  [
    'a pod that is never restarted gets no second sandbox',
    aPod({restartPolicy: 'Never'}),
    aRuntime([aRun('app')], [aSandbox({isReady: false})]),
    'kill pod',
  ],
  [
    'a pod that is never restarted gets a sandbox after one in which nothing ran',
    aPod({restartPolicy: 'Never'}),
    aRuntime([], [aSandbox({isReady: false})]),
    'kill pod, sandbox 1, start app',
  ],
  [
    'a pod that restarts on failure goes on with the containers that have not succeeded',
    aPod({restartPolicy: 'OnFailure', containers: two}),
    aRuntime([aRun('app', 0), aRun('other', 1)], [aSandbox({isReady: false})]),
    'kill pod, sandbox 1, start other',
  ],
  [
    'a pod whose containers have all succeeded gets no other sandbox',
    aPod({restartPolicy: 'OnFailure'}),
    aRuntime([aRun('app', 0)], [aSandbox({isReady: false})]),
    'kill pod',
  ],
  [
    'a new sandbox runs the init containers again',
    aPod({initContainers: init('a')}),
    aRuntime([aRun('app'), aRun('a', 0)], [aSandbox({isReady: false})]),
    'kill pod, sandbox 1, init a',
  ],
  [
    'a container with its own policy keeps a pod alive that is never restarted',
    aPod({restartPolicy: 'Never', containers: [{name: 'app', restartPolicy: 'Always'}, two[1]!]}),
    aRuntime([aRun('app'), aRun('other', 0)], [aSandbox({isReady: false})]),
    'kill pod, sandbox 1, start app',
  ],
];

const regular: readonly Row[] = [
  ['containers that are missing are started', aPod({containers: two}), aRuntime([aRun('app')]), 'start other'],
  ['one that has ended is started again', aPod({containers: two}), aRuntime([aRun('app', 0), aRun('other')]), 'start app'],
  [
    'one that has succeeded is not started again on failure',
    aPod({restartPolicy: 'OnFailure', containers: two}),
    aRuntime([aRun('app', 0), aRun('other')]),
    '',
  ],
  [
    'one that has failed is started again on failure',
    aPod({restartPolicy: 'OnFailure', containers: two}),
    aRuntime([aRun('app', 3), aRun('other')]),
    'start app',
  ],
  [
    'one that has failed is not started again if it never is',
    aPod({restartPolicy: 'Never', containers: two}),
    aRuntime([aRun('app', 3), aRun('other')]),
    '',
  ],
  ['a pod with nothing left to do is killed', aPod({restartPolicy: 'Never'}), aRuntime([aRun('app', 0)]), 'kill pod'],
  ['one that was created and not started is started', aPod({restartPolicy: 'Never'}), aRuntime([aRun('app', 'created')]), 'start app'],
  [
    'one in an unknown state is killed and started again',
    aPod({restartPolicy: 'Never'}),
    aRuntime([aRun('app', 'unknown')]),
    'kill app-0 (unknown: Container is in "unknown" state, try killing it before restart), start app',
  ],
  ['the newest run counts', aPod(), aRuntime([aRun('app', 'running', {attempt: 1}), aRun('app', 1)]), ''],
  ['nothing is started in a deleted pod', aPod({containers: two}, deleted), aRuntime([aRun('app')]), ''],
  [
    'a rule of the container restarts it',
    aPod({containers: [{name: 'app', ...rules('Restart', 42)}]}),
    aRuntime([aRun('app', 42)]),
    'start app',
  ],
  [
    'a rule of the container does not concern other codes',
    aPod({containers: [{name: 'app', ...rules('Restart', 42)}]}),
    aRuntime([aRun('app', 1)]),
    'kill pod',
  ],
  [
    'the policy of a container comes before that of the pod',
    aPod({restartPolicy: 'Never', containers: [{name: 'app', restartPolicy: 'OnFailure'}]}),
    aRuntime([aRun('app', 1)]),
    'start app',
  ],
  [
    'a rule restarts all containers where the gate allows it',
    aPod({containers: [{name: 'app', ...rules('RestartAllContainers', 42)}, two[1]!]}),
    aRuntime([aRun('app', 42), aRun('other')]),
    'restart all',
    {},
    true,
  ],
  [
    'a rule for all containers means nothing without the gate',
    aPod({containers: [{name: 'app', ...rules('RestartAllContainers', 42)}, two[1]!]}),
    aRuntime([aRun('app', 42), aRun('other')]),
    '',
  ],
  [
    'a changed image restarts a container',
    aPod({restartPolicy: 'Never'}),
    aRuntime([aRun('app', 'running', hashed('old'))]),
    'kill app-0 (changed: Container app definition changed, will be restarted), start app',
  ],
  ['the same image does not', aPod(), aRuntime([aRun('app', 'running', hashed('app'))]), ''],
  [
    'a failed liveness probe restarts a container',
    aPod(),
    aRuntime([aRun('app')]),
    'kill app-0 (liveness: Container app failed liveness probe, will be restarted), start app',
    {'liveness app-0': 'failure'},
  ],
  [
    'a failed liveness probe ends one that is never restarted',
    aPod({restartPolicy: 'Never', containers: two}),
    aRuntime([aRun('app'), aRun('other')]),
    'kill app-0 (liveness: Container app failed liveness probe)',
    {'liveness app-0': 'failure'},
  ],
  [
    'a failed startup probe restarts a container',
    aPod(),
    aRuntime([aRun('app')]),
    'kill app-0 (startup: Container app failed startup probe, will be restarted), start app',
    {'startup app-0': 'failure'},
  ],
  [
    'a result of an earlier run does not count',
    aPod(),
    aRuntime([aRun('app', 'running', {attempt: 1}), aRun('app', 1)]),
    '',
    {'liveness app-0': 'failure'},
  ],
  [
    'an ephemeral container is started once',
    aPod({ephemeralContainers: [{name: 'look', image: 'x'}]}),
    aRuntime([aRun('app')]),
    'ephemeral look',
  ],
  [
    'an ephemeral container is never started again',
    aPod({ephemeralContainers: [{name: 'look', image: 'x'}]}),
    aRuntime([aRun('app'), aRun('look', 1)]),
    '',
  ],
  [
    'an ephemeral container does not wait for init containers',
    aPod({initContainers: init('a'), ephemeralContainers: [{name: 'look', image: 'x'}]}),
    aRuntime([aRun('a')]),
    'ephemeral look',
  ],
];

const initial: readonly Row[] = [
  ['the first init container is started in a sandbox where nothing ran', aPod({initContainers: init('a', 'b')}), aRuntime(), 'init a'],
  ['a running init container is waited for', aPod({initContainers: init('a', 'b')}), aRuntime([aRun('a')]), ''],
  ['after one the next is started', aPod({initContainers: init('a', 'b')}), aRuntime([aRun('a', 0)]), 'init b'],
  [
    'after the last the others are started',
    aPod({initContainers: init('a', 'b'), containers: two}),
    aRuntime([aRun('b', 0), aRun('a', 0)]),
    'start app other',
  ],
  ['the last one with a run counts, though the earlier ones are gone', aPod({initContainers: init('a', 'b')}), aRuntime([aRun('b')]), ''],
  ['a failed one is tried again', aPod({initContainers: init('a')}), aRuntime([aRun('a', 1)]), 'init a'],
  [
    'a failed one is tried again on failure',
    aPod({restartPolicy: 'OnFailure', initContainers: init('a')}),
    aRuntime([aRun('a', 1)]),
    'init a',
  ],
  [
    'a failed one ends a pod that is never restarted',
    aPod({restartPolicy: 'Never', initContainers: init('a')}),
    aRuntime([aRun('a', 1)]),
    'kill pod',
  ],
  [
    'one that was created and not started is started',
    aPod({restartPolicy: 'Never', initContainers: init('a')}),
    aRuntime([aRun('a', 'created')]),
    'init a',
  ],
  [
    'one in an unknown state is killed and tried again',
    aPod({initContainers: init('a')}),
    aRuntime([aRun('a', 'unknown')]),
    'kill a-0 (unknown: Init container is in "unknown" state, try killing it before restart), init a',
  ],
  ['init containers that are gone are not run again beside the others', aPod({initContainers: init('a')}), aRuntime([aRun('app')]), ''],
  [
    'a failed init container of the past does not matter',
    aPod({restartPolicy: 'Never', initContainers: init('a')}),
    aRuntime([aRun('app'), aRun('a', 1)]),
    '',
  ],
  ['a sidecar that runs lets the next one start', aPod({initContainers: [sidecar('s'), ...init('a')]}), aRuntime([aRun('s')]), 'init a'],
  ['a sidecar that runs lets the others start', aPod({initContainers: [sidecar('s')]}), aRuntime([aRun('s')]), 'start app'],
  [
    'a sidecar with a startup probe is waited for',
    aPod({initContainers: [sidecar('s', {startupProbe: probe})]}),
    aRuntime([aRun('s')]),
    '',
  ],
  [
    'a sidecar with an unknown startup is waited for',
    aPod({initContainers: [sidecar('s', {startupProbe: probe})]}),
    aRuntime([aRun('s')]),
    '',
    {'startup s-0': 'unknown'},
  ],
  [
    'a sidecar that has started lets the others start',
    aPod({initContainers: [sidecar('s', {startupProbe: probe})]}),
    aRuntime([aRun('s')]),
    'start app',
    {'startup s-0': 'success'},
  ],
  [
    'a sidecar that fails to start is restarted',
    aPod({initContainers: [sidecar('s', {startupProbe: probe})]}),
    aRuntime([aRun('s')]),
    'kill s-0 (startup: Init container s failed startup probe), init s',
    {'startup s-0': 'failure'},
  ],
  [
    'a sidecar that fails its liveness probe is restarted',
    aPod({initContainers: [sidecar('s', {livenessProbe: probe})]}),
    aRuntime([aRun('app'), aRun('s')]),
    'kill s-0 (liveness: Init container s failed liveness probe), init s',
    {'liveness s-0': 'failure'},
  ],
  [
    'a sidecar is restarted whatever the policy',
    aPod({restartPolicy: 'Never', initContainers: [sidecar('s')]}),
    aRuntime([aRun('app'), aRun('s', 0)]),
    'init s',
  ],
  [
    'a sidecar is restarted beside a later init container',
    aPod({initContainers: [sidecar('s'), ...init('a')]}),
    aRuntime([aRun('a'), aRun('s', 1)]),
    'init s',
  ],
  [
    'a sidecar of which no run is left is started beside the others',
    aPod({initContainers: [sidecar('s')]}),
    aRuntime([aRun('app')]),
    'init s',
  ],
  [
    'a sidecar does not keep a pod alive',
    aPod({restartPolicy: 'Never', initContainers: [sidecar('s')]}),
    aRuntime([aRun('app', 0), aRun('s')]),
    'kill pod',
  ],
  [
    'a sidecar that has ended is not restarted in a pod with nothing left to do',
    aPod({restartPolicy: 'Never', initContainers: [sidecar('s')]}),
    aRuntime([aRun('app', 0), aRun('s', 1)]),
    'kill pod',
  ],
];

for (const [of, rows] of Object.entries({sandboxes, regular, initial})) {
  test(`actions on pods follow from what the runtime has: ${of}`, t => {
    for (const [what, pod, runtime, actions, probes, restartAll] of rows) t.is(actionsOf(pod, runtime, probes, restartAll), actions, what);
  });
}

test('the table of actions has as many rows as is asked for', t => {
  t.true(sandboxes.length + regular.length + initial.length >= 60);
});

test('the gate RestartAllContainersOnContainerExits reaches the decisions about restarts', t => {
  const gatesOf = (isOn: boolean) => {
    const gate = (name: string): boolean => isOn && name === 'RestartAllContainersOnContainerExits';
    const settings = {syncFrequency: 60_000, 'crashLoopBackOff.maxContainerRestartPeriod': 300_000};
    const parts = {gate, settings, naming: naming('plat'), runtimeVersion: {name: 'containerd'}, flags: {}};
    return nodeFactsOf(parts as unknown as Parameters<typeof nodeFactsOf>[0], {} as Parameters<typeof nodeFactsOf>[1]).gates;
  };
  t.deepEqual(gatesOf(true), {restartAll: true});
  t.deepEqual(gatesOf(false), {restartAll: false});
});
