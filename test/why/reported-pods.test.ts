import type {Kind} from '#src/api/kinds/index.js';
import {bound, condition, explains, running, reportedAt, type Row} from './reported.js';
import {aPod, kinds} from './situations.js';

const waiting = (reason: string, message = '', lastState?: object) => ({
  phase: 'Pending',
  containerStatuses: [
    {
      name: 'app',
      image: 'nginx',
      imageID: '',
      ready: false,
      restartCount: 4,
      state: {waiting: {reason, message}},
      ...(lastState ? {lastState} : {}),
    },
  ],
});

const pods: readonly Omit<Row, 'kind'>[] = [
  {
    title: 'a sandbox that cannot be created',
    name: 'sandbox',
    async arrange(at) {
      await at.put(kinds.pods, bound('sandbox'), waiting('ContainerCreating'));
      await at.event(kinds.pods, 'sandbox', 'FailedCreatePodSandBox', 'no network plugin');
    },
    answer: 'Pod default/sandbox is blocked: its sandbox cannot be created: no network plugin.',
    ends: 'The container runtime or the network plugin of the node; the agent tries again.',
  },
  {
    title: 'a volume that another node has',
    name: 'attached',
    async arrange(at) {
      await at.put(kinds.pods, bound('attached'), waiting('ContainerCreating'));
      await at.event(
        kinds.pods,
        'attached',
        'FailedAttachVolume',
        'Multi-Attach error for volume "data" Volume is already used by pod(s) old',
      );
    },
    answer:
      'Pod default/attached is blocked: a volume is not attached to its node: Multi-Attach error for volume "data" Volume is already used by pod(s) old.',
    ends: 'The end of the pod on the other node that uses the volume, and its detachment there.',
  },
  {
    title: 'an image that is being pulled',
    name: 'pulling',
    async arrange(at) {
      await at.put(kinds.pods, bound('pulling'), waiting('ContainerCreating'));
      await at.event(kinds.pods, 'pulling', 'Pulling', 'Pulling image "nginx:1.27"');
    },
    answer: 'Pod default/pulling is blocked: the image nginx:1.27 of its container app is being pulled.',
    ends: 'The agent of the node, once it has started the container.',
  },
  {
    title: 'a container that is being created',
    name: 'creating',
    arrange: at => at.put(kinds.pods, bound('creating'), waiting('ContainerCreating')),
    answer: 'Pod default/creating is blocked: its container app is being started (ContainerCreating).',
    ends: 'The agent of the node, once it has started the container.',
  },
  {
    title: 'a pod that its agent has not seen',
    name: 'unseen',
    arrange: at => at.put(kinds.pods, bound('unseen')),
    answer: 'Pod default/unseen is blocked: the agent of the node n has not begun with it.',
    ends: 'The agent of the node, as soon as it sees the pod.',
  },
  {
    title: 'a container that cannot be created',
    name: 'create-error',
    arrange: at => at.put(kinds.pods, bound('create-error'), waiting('CreateContainerError', 'the name is in use')),
    answer: 'Pod default/create-error is blocked: its container app cannot be created: the name is in use.',
    ends: 'A container that can be created; the agent tries again.',
  },
  {
    title: 'an image name that is none',
    name: 'image-name',
    arrange: at => at.put(kinds.pods, bound('image-name'), waiting('InvalidImageName', "couldn't parse image name")),
    answer: "Pod default/image-name is blocked: the image nginx:1.27 of its container app cannot be pulled: couldn't parse image name.",
    ends: 'Another image, or another imagePullPolicy.',
  },
  {
    title: 'a liveness probe that fails',
    name: 'liveness',
    async arrange(at) {
      const terminated = {exitCode: 137, reason: 'Error', finishedAt: reportedAt, startedAt: reportedAt};
      await at.put(
        kinds.pods,
        bound('liveness'),
        waiting('CrashLoopBackOff', 'back-off 40s restarting failed container=app', {terminated}),
      );
      await at.event(kinds.pods, 'liveness', 'Killing', 'Container app failed liveness probe, will be restarted');
      await at.event(kinds.pods, 'liveness', 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500');
    },
    answer:
      'Pod default/liveness is blocked: its container app is restarted again and again, as its liveness probe fails: HTTP probe failed with statuscode: 500.',
    ends: 'A program that answers the probe in time, or another livenessProbe. The agent starts it again at 2026-01-01T00:01:10Z.',
  },
  {
    title: 'a container that has ended',
    name: 'ended',
    arrange: at =>
      at.put(kinds.pods, bound('ended'), {
        phase: 'Running',
        containerStatuses: [
          {...waiting('').containerStatuses[0], state: {terminated: {exitCode: 0, reason: 'Completed', finishedAt: reportedAt}}},
        ],
      }),
    answer: 'Pod default/ended is blocked: its container app has ended with code 0 (Completed) and is not ready.',
    ends: 'The agent of the node starts it again if its restart policy says so: kubectl logs ended -n default -c app.',
  },
  {
    title: 'a resize that the node cannot do',
    name: 'resize',
    arrange: at =>
      at.put(kinds.pods, bound('resize'), {
        ...running,
        conditions: [...running.conditions, condition('PodResizePending', 'True', 'Infeasible', "Node didn't have enough capacity: cpu")],
      }),
    answer: "Pod default/resize is blocked: its new resources are not in force: Infeasible: Node didn't have enough capacity: cpu.",
    ends: 'Smaller resources: its node never has so much.',
  },
  {
    title: 'a readiness gate that is false',
    name: 'gate',
    arrange: at =>
      at.put(kinds.pods, bound('gate', {readinessGates: [{conditionType: 'example.com/lb'}]}), {
        ...running,
        conditions: [
          condition('Ready', 'False', 'ReadinessGatesNotReady'),
          condition('example.com/lb', 'False', 'NoTarget', 'not registered'),
        ],
      }),
    answer:
      'Pod default/gate is blocked: its containers are ready, and its readiness gate example.com/lb is False (NoTarget: not registered).',
    ends: 'The condition example.com/lb in its status, which the field manager plat sets.',
  },
  {
    title: 'a pod that is not ready for a reason of its own',
    name: 'unready',
    arrange: at =>
      at.put(kinds.pods, bound('unready'), {...running, conditions: [condition('Ready', 'False', 'NodeShutdown', 'the node shuts down')]}),
    answer: 'Pod default/unready is blocked: it is not ready: NodeShutdown: the node shuts down.',
    ends: 'The agent of its node, once it reports that the pod is ready.',
  },
  {
    title: 'a pod that was evicted',
    name: 'evicted',
    arrange: at =>
      at.put(kinds.pods, bound('evicted'), {phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.'}),
    answer: 'Pod default/evicted is blocked: it has failed and does not run again: Evicted: The node was low on resource: memory.',
    ends: 'A new pod: its owner makes one, if it has an owner that does.',
  },
  {
    title: 'a taint that the pod does not tolerate',
    name: 'tainted',
    async arrange(at) {
      await at.node('leaving', {taints: [{key: 'example.com/leaving', effect: 'NoExecute', timeAdded: reportedAt}]});
      await at.put(kinds.pods, bound('tainted', {nodeName: 'leaving'}), running);
    },
    answer:
      'Pod default/tainted is blocked: its node leaving has the taint example.com/leaving:NoExecute, which it does not tolerate, and it is to be evicted.',
    ends: 'The eviction by the taint-eviction-controller, or the end of the taint.',
  },
  {
    title: 'a node that does not confirm a deletion',
    name: 'unconfirmed',
    async arrange(at) {
      await at.node('silent', {ready: 'Unknown'});
      await at.put(kinds.pods, bound('unconfirmed', {nodeName: 'silent', tolerations: [{operator: 'Exists'}]}), running);
      await at.delete(kinds.pods, 'unconfirmed');
    },
    answer: 'Pod default/unconfirmed is blocked by Node silent: its agent does not report any more.',
    ends: 'The agent of silent, once the machine, its network and the agent work again.',
  },
  {
    title: 'a deletion on a node that is gone',
    name: 'homeless',
    async arrange(at) {
      await at.put(kinds.pods, bound('homeless', {nodeName: 'gone'}), running);
      await at.delete(kinds.pods, 'homeless');
    },
    answer: 'Pod default/homeless is blocked: it is being deleted, and its node gone does not exist any more.',
    ends: 'The pod-garbage-collector-controller of the controller manager deletes it, as soon as it works.',
  },
  {
    title: 'a job that has not counted a pod',
    name: 'counted',
    arrange: async at => {
      const pod = aPod('counted', {schedulerName: 'other'});
      await at.put(kinds.pods, {...pod, metadata: {...pod.metadata, finalizers: ['batch.kubernetes.io/job-tracking']}});
      await at.delete(kinds.pods, 'counted');
    },
    answer:
      'Pod default/counted is blocked: it is being deleted, and the finalizer batch.kubernetes.io/job-tracking keeps it: its job has not counted it yet.',
    ends: 'Nothing: it has no job any more. The job-controller removes the finalizer of such pods when it starts again.',
  },
];

/** What the scheduler says of nodes, and what would end it. */
const remedies: readonly (readonly [refusal: string, ends: string])[] = [
  ['1 node(s) were unschedulable', 'A node that is not cordoned (kubectl uncordon NODE).'],
  ["1 node(s) didn't find available persistent volumes to bind", 'A volume for its claims that a node can reach.'],
  ["1 node(s) didn't have free ports for the requested pod ports", 'A node on which the host ports of the pod are free.'],
  ['1 node(s) had volume node affinity conflict', 'A node from which the volume of the pod can be reached.'],
  ["1 node(s) didn't match pod anti-affinity rules", 'A node without the pods that its anti-affinity, or theirs, excludes.'],
  ["1 node(s) didn't match pod affinity rules", 'A node with the pods that its affinity asks for.'],
  [
    "1 node(s) didn't match pod topology spread constraints",
    'A node in a topology domain with fewer pods, or other topologySpreadConstraints.',
  ],
  ['1 Too many pods', 'A node with room for one more pod.'],
  ['1 something else', 'The scheduler tries again as soon as something changes that could help.'],
];

const refused: readonly Omit<Row, 'kind'>[] = remedies.map(([refusal, ends], index) => ({
  title: `no node takes it, as ${refusal}`,
  name: `refused-${index}`,
  arrange: at =>
    at.put(kinds.pods, aPod(`refused-${index}`, {schedulerName: 'other'}), {
      phase: 'Pending',
      conditions: [condition('PodScheduled', 'False', 'Unschedulable', `0/1 nodes are available: ${refusal}. preemption: no help.`)],
    }),
  answer: `Pod default/refused-${index} is blocked: no node takes it: 0/1 nodes are available: ${refusal}.`,
  ends,
}));

const nodes: readonly Omit<Row, 'kind'>[] = [
  {
    title: 'a node that has never reported',
    name: 'new',
    arrange: at => at.node('new', {ready: ''}),
    answer: 'Node new is blocked: its agent has never reported.',
    ends: 'The agent of new, as soon as it works.',
  },
  {
    title: 'a node whose lease has run out',
    name: 'lost',
    async arrange(at) {
      await at.node('lost', {ready: 'Unknown'});
      await at.put(kinds.leases, {
        metadata: {name: 'lost', namespace: 'kube-node-lease'},
        spec: {holderIdentity: 'lost', renewTime: '2026-01-01T00:00:20.000000Z'},
      });
    },
    answer: 'Node lost is blocked: its agent does not report any more, and has renewed its lease last at 2026-01-01T00:00:20.000000Z.',
    ends: 'The agent of lost, once the machine, its network and the agent work again.',
  },
  {
    title: 'a node without a route',
    name: 'routes',
    arrange: at => at.node('routes', {conditions: [condition('NetworkUnavailable', 'True', 'NoRouteCreated', 'no route')]}),
    answer: 'Node routes is blocked: it has the condition NetworkUnavailable, with which it takes no new pods: NoRouteCreated: no route.',
    ends: 'A route to the node, by the route controller of the cloud provider.',
  },
  {
    title: 'a node short of memory',
    name: 'pressed',
    arrange: at =>
      at.node('pressed', {
        conditions: [condition('MemoryPressure', 'True', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available')],
      }),
    answer:
      'Node pressed is blocked: it has the condition MemoryPressure, with which it takes no new pods: KubeletHasInsufficientMemory: kubelet has insufficient memory available.',
    ends: 'Less use of what is short: the agent evicts pods meanwhile.',
  },
  {
    title: 'a node that no cloud has initialized',
    name: 'cloudless',
    arrange: at => at.node('cloudless', {taints: [{key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule'}]}),
    answer:
      'Node cloudless is blocked: it has the taint node.cloudprovider.kubernetes.io/uninitialized until a cloud provider has initialized it.',
    ends: 'The cloud-node-controller of the cloud provider, as soon as it works.',
  },
  {
    title: 'a node that is ready and keeps its taint',
    name: 'stale',
    arrange: at => at.node('stale', {taints: [{key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule'}]}),
    answer: 'Node stale is blocked: its agent reports that it is ready, and it still has the taint node.kubernetes.io/not-ready.',
    ends: 'The node-lifecycle-controller of the controller manager, as soon as it works.',
  },
];

await explains([
  ...[...pods, ...refused].map(row => ({...row, kind: kinds.pods as Kind})),
  ...nodes.map(row => ({...row, kind: kinds.nodes as Kind})),
]);
