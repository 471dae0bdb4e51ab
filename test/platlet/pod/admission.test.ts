import test from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {admit, type Admission, type NodeState} from '#src/platlet/pod/admission/admission.js';
import {allocate, emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import {preemptedOutcome, preemptedCondition} from '#src/platlet/pod/admission/preemption.js';
import {rejectionOutcome} from '#src/platlet/pod/admission/rejection.js';
import {aPod} from './objects.js';

const naming = namingOf('kubernetes');
const node: Node = {
  metadata: {name: 'node', labels: {zone: 'a', 'kubernetes.io/os': 'linux'}},
  spec: {taints: [{key: 'gone', effect: 'NoExecute'}]},
  status: {
    allocatable: {cpu: '2', memory: '1Gi', pods: '3', 'ephemeral-storage': '1Gi', 'example.com/gpu': '1'},
    features: {supplementalGroupsPolicy: false},
  },
};
const tolerated = {tolerations: [{operator: 'Exists'}]};
const requesting = (requests: Record<string, string>, more: object = {}) =>
  aPod({...tolerated, containers: [{name: 'app', image: 'x', resources: {requests}, ...more}]});
const ports = {ports: [{containerPort: 80, hostPort: 80}]};

const stateOf = (fields: Partial<NodeState> = {}, pods: readonly Pod[] = []): NodeState => {
  const allocation = emptyAllocation();
  for (const pod of pods) allocate(allocation, pod);
  return {
    naming,
    node,
    pressures: [],
    allowedSysctls: [],
    features: {podLevelResources: true, declared: []},
    isShuttingDown: false,
    allocation,
    pods,
    ...fields,
  };
};

const answer = (state: NodeState, pod: Pod): string => {
  const admission = admit(state, pod) as Admission;
  if (admission.is === 'refused') return `${admission.rejection.reason}: ${admission.rejection.message}`;
  return admission.is === 'preempting' ? `preempts ${admission.victims.map(({metadata}) => metadata?.name).join(' ')}` : 'admitted';
};

const sysctls = (name: string, more: object = {}) => aPod({...tolerated, securityContext: {sysctls: [{name, value: '1'}]}, ...more});
const others = [requesting({cpu: '1500m', memory: '512Mi'}, ports)];
const restartAll = {
  name: 'app',
  restartPolicy: 'Never',
  restartPolicyRules: [{action: 'RestartAllContainers', exitCodes: {operator: 'In', values: [1]}}],
};
const burstable = {...tolerated, containers: [{name: 'app', resources: {requests: {memory: '1Mi'}}}]};

/** What is asked, of which node, and what it says. */
type Row = readonly [pod: Pod, state: NodeState, answer: string];

const rows: readonly Row[] = [
  [aPod(tolerated), stateOf(), 'admitted'],
  [aPod(tolerated), stateOf({pressures: ['DiskPressure']}), 'Evicted: The node had condition: [DiskPressure]. '],
  [
    aPod(tolerated),
    stateOf({pressures: ['MemoryPressure', 'PIDPressure']}),
    'Evicted: The node had condition: [MemoryPressure PIDPressure]. ',
  ],
  [aPod(), stateOf({pressures: ['MemoryPressure']}), 'Evicted: The node had condition: [MemoryPressure]. '],
  [aPod(burstable), stateOf({pressures: ['MemoryPressure']}), 'admitted'],
  [aPod(tolerated), stateOf({pressures: ['MemoryPressure']}), 'admitted'],
  [aPod(burstable), stateOf({pressures: ['DiskPressure']}), 'Evicted: The node had condition: [DiskPressure]. '],
  [aPod({...tolerated, priority: 2_000_000_000}), stateOf({pressures: ['DiskPressure']}), 'admitted'],
  [sysctls('net.ipv4.tcp_syncookies'), stateOf(), 'admitted'],
  [sysctls('net.core.somaxconn'), stateOf(), 'SysctlForbidden: forbidden sysctl: "net.core.somaxconn" not allowlisted'],
  [sysctls('net.core.somaxconn'), stateOf({allowedSysctls: ['net.core.*']}), 'admitted'],
  [sysctls('net/core/somaxconn'), stateOf({allowedSysctls: ['net.core.somaxconn']}), 'admitted'],
  [
    sysctls('net.ipv4.tcp_syncookies', {hostNetwork: true}),
    stateOf(),
    'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
  ],
  [
    sysctls('kernel.shm_rmid_forced', {hostIPC: true}),
    stateOf(),
    'SysctlForbidden: forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host ipc enabled',
  ],
  [
    aPod(tolerated),
    stateOf({reserve: () => ({is: 'topology'})}),
    'TopologyAffinityError: Resources cannot be allocated with Topology locality',
  ],
  [
    aPod(tolerated),
    stateOf({reserve: () => ({is: 'smt-alignment', requested: 3, cpusPerCore: 2})}),
    'SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  ],
  [
    aPod(tolerated),
    stateOf({reserve: () => ({is: 'failed', error: 'no endpoint'})}),
    'UnexpectedAdmissionError: Allocate failed due to no endpoint, which is unexpected',
  ],
  [aPod(tolerated), stateOf({node: undefined}), 'InvalidNodeInfo: Kubelet cannot get node info.'],
  [
    aPod(tolerated, {labels: {'kubernetes.io/os': 'windows'}}),
    stateOf(),
    "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  ],
  [aPod({...tolerated, os: {name: 'windows'}}), stateOf(), "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"],
  [
    aPod({...tolerated, securityContext: {supplementalGroupsPolicy: 'Strict'}}),
    stateOf(),
    'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
  ],
  [
    requesting({cpu: '600m'}),
    stateOf({}, others),
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000",
  ],
  [
    requesting({memory: '600Mi'}),
    stateOf({}, others),
    "OutOfmemory: Node didn't have enough resource: memory, requested: 629145600, used: 536870912, capacity: 1073741824",
  ],
  [
    requesting({'ephemeral-storage': '2Gi'}),
    stateOf(),
    "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 2147483648, used: 0, capacity: 1073741824",
  ],
  [
    requesting({'example.com/gpu': '2'}),
    stateOf(),
    "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1",
  ],
  [requesting({'example.com/unknown': '2'}), stateOf(), 'admitted'],
  [
    aPod(tolerated),
    stateOf({}, [aPod(), aPod(), aPod()]),
    "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  ],
  [
    aPod({...tolerated, nodeSelector: {zone: 'b'}}),
    stateOf(),
    "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  ],
  [aPod({...tolerated, nodeName: 'other'}), stateOf(), "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name"],
  [
    requesting({}, ports),
    stateOf({}, others),
    "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ],
  [aPod(), stateOf(), "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"],
  [aPod({}, {annotations: {'kubernetes.io/config.source': 'file'}}), stateOf(), 'admitted'],
  [
    aPod({...tolerated, securityContext: {appArmorProfile: {type: 'RuntimeDefault'}}}),
    stateOf({features: {podLevelResources: true, declared: [], appArmorError: 'AppArmor is not enabled on the host'}}),
    'AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host',
  ],
  [
    aPod({...tolerated, securityContext: {appArmorProfile: {type: 'Unconfined'}}}),
    stateOf({features: {podLevelResources: true, declared: [], appArmorError: 'AppArmor is not enabled on the host'}}),
    'admitted',
  ],
  [
    aPod({...tolerated, resources: {limits: {cpu: '1'}}}),
    stateOf({features: {podLevelResources: false, declared: []}}),
    'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
  ],
  [
    aPod({...tolerated, containers: [restartAll]}),
    stateOf(),
    'PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits',
  ],
  [
    aPod({...tolerated, containers: [restartAll]}),
    stateOf({features: {podLevelResources: true, declared: ['RestartAllContainersOnContainerExits']}}),
    'admitted',
  ],
  [aPod(tolerated), stateOf({isShuttingDown: true}), 'NodeShutdown: Pod was rejected as the node is shutting down.'],
];

test('a node refuses a pod with the reason and the text of the original', t => {
  for (const [pod, state, expected] of rows) t.is(answer(state, pod), expected);
});

test('the first refusal counts', t => {
  const pod = sysctls('kernel.none', {nodeSelector: {zone: 'b'}});
  t.regex(answer(stateOf({pressures: ['DiskPressure'], isShuttingDown: true}), pod), /^Evicted/);
  t.regex(answer(stateOf({isShuttingDown: true}), pod), /^SysctlForbidden/);
});

test('the status of a refused pod says so', t => {
  t.deepEqual(rejectionOutcome({reason: 'OutOfpods', message: 'full'}), {reason: 'OutOfpods', message: 'Pod was rejected: full'});
});

const named = (name: string, pod: Pod): Pod => ({...pod, metadata: {...pod.metadata, name, uid: name}});
const guaranteed = (name: string, cpu: string) => {
  const amounts = {cpu, memory: '1Mi'};
  return named(name, aPod({...tolerated, containers: [{name: 'app', resources: {requests: amounts, limits: amounts}}]}));
};

test('a critical pod takes the place of others: first of those with the least guarantees, and of as few as possible', t => {
  const critical = (cpu: string) => ({...requesting({cpu}), spec: {...requesting({cpu}).spec!, priority: 2_000_000_000}});
  const small = named('small', requesting({cpu: '500m'}));
  const large = named('large', requesting({cpu: '900m'}));
  const strict = guaranteed('strict', '500m');
  t.is(
    answer(stateOf({}, [small, large, strict]), requesting({cpu: '1'})),
    "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  );
  t.is(answer(stateOf({}, [large, strict]), critical('1')), 'preempts large');
  t.is(answer(stateOf({}, [large, strict]), critical('1700m')), 'preempts large strict');
  t.is(answer(stateOf({}, [small, large]), critical('1')), 'preempts small');
  t.regex(answer(stateOf({}, [small]), critical('3')), /^OutOfcpu/);
  const equal = {...large, spec: {...large.spec!, priority: 2_000_000_000}};
  t.regex(answer(stateOf({}, [equal, strict, small]), critical('1900m')), /^OutOfpods|^OutOfcpu/);
  t.is(preemptedOutcome.message, 'Preempted in order to admit critical pod');
  t.deepEqual(preemptedCondition(naming), {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
  });
});
