import test from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {aPod, aTemplate, kinds, Situations} from './situations.js';

// What controllers, agents and servers have reported: the test writes it in their place.

const at = await Situations.start([]);
test.after.always(() => at[Symbol.asyncDispose]());

const then = '2026-01-01T00:00:30Z';

/** Creates an object and writes its status. */
const put = async <T extends KubeObject>(kind: Kind<T>, object: T, status?: object): Promise<void> => {
  await at.create(kind, object);
  if (status)
    await at.patch(kind, object.metadata!.name!, {status}, {namespace: object.metadata?.namespace ?? 'default', subresource: 'status'});
};

/** An event about an object in `default`. */
const event = async (kind: Kind, name: string, reason: string, message: string): Promise<void> => {
  const {metadata} = await at.client.resource(kind).get(name, kind.namespaced ? {namespace: 'default'} : {});
  const involvedObject = {kind: kind.kind, namespace: 'default', name, uid: metadata!.uid!};
  await at.create(kinds.coreEvents, {
    metadata: {name: `${kind.singular}-${name}.${reason.toLowerCase()}`},
    involvedObject,
    reason,
    message,
    type: 'Warning',
    firstTimestamp: then,
    lastTimestamp: then,
  });
};

const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: then,
});

const aNode = async (name: string, {taints = [] as object[], ready = 'True', conditions = [] as object[]} = {}): Promise<void> => {
  const capacity = {cpu: '8', memory: '8Gi', pods: '100'};
  await put(
    kinds.nodes,
    {metadata: {name}},
    {capacity, allocatable: capacity, conditions: ready ? [condition('Ready', ready, 'Reported', 'the agent said so'), ...conditions] : []},
  );
  await at.patch(kinds.nodes, name, {spec: {taints}});
};

const bound = (name: string, spec: object = {}) => aPod(name, {nodeName: 'n', ...spec});
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
const running = {
  phase: 'Running',
  conditions: [condition('Ready', 'True', '')],
  containerStatuses: [
    {name: 'app', image: 'nginx', imageID: '', ready: true, started: true, restartCount: 0, state: {running: {startedAt: then}}},
  ],
};

const selector = {matchLabels: {app: 'x'}};
const aReplicaSet = (name: string, spec: object = {}) => ({metadata: {name}, spec: {selector, template: aTemplate('x'), ...spec}});
const refusals = {
  'a quota that wants requests': {
    message: 'pods "x" is forbidden: failed quota: cpu: must specify requests.cpu for: app',
    answer:
      'ReplicaSet default/refused-0 is blocked: the resource quota cpu refuses its pods, as their containers do not specify requests.cpu for: app.',
    ends: 'These fields in its template, or a LimitRange with defaults for them.',
  },
  'a webhook that says no': {
    message: 'admission webhook "pods.example.com" denied the request: only signed images',
    answer: 'ReplicaSet default/refused-1 is blocked: the webhook pods.example.com refuses its pods: only signed images.',
    ends: 'Pods that the webhook accepts.',
  },
  'an admission policy': {
    message: "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'labels' with binding 'all' denied request: a team is missing",
    answer: 'ReplicaSet default/refused-2 is blocked: the admission policy labels refuses its pods: a team is missing.',
    ends: 'Pods that the policy accepts, or another policy or binding.',
  },
  'a limit range': {
    message: 'pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    answer:
      'ReplicaSet default/refused-3 is blocked: a limit range of its namespace refuses its pods: maximum cpu usage per Container is 1, but limit is 2.',
    ends: 'Resources in its template within the limits.',
  },
  'a priority class that is missing': {
    message: 'pods "x" is forbidden: no PriorityClass with name urgent was found',
    answer: 'ReplicaSet default/refused-4 is blocked: its pods are of the priority class urgent, which does not exist.',
    ends: 'The creation of the priority class urgent.',
  },
  'something else': {
    message: 'Pod "x" is invalid: spec.containers[0].image: Required value',
    answer:
      'ReplicaSet default/refused-5 is blocked: its pods cannot be created: Pod "x" is invalid: spec.containers[0].image: Required value.',
    ends: 'What the message asks for; its controller tries again by itself.',
  },
};

interface Row {
  readonly title: string;
  readonly kind: Kind;
  readonly name: string;
  readonly namespace?: string;
  readonly arrange: () => Promise<unknown>;
  readonly answer: string;
  readonly ends: string | undefined;
}

const pods: readonly Omit<Row, 'kind'>[] = [
  {
    title: 'a sandbox that cannot be created',
    name: 'sandbox',
    async arrange() {
      await put(kinds.pods, bound('sandbox'), waiting('ContainerCreating'));
      await event(kinds.pods, 'sandbox', 'FailedCreatePodSandBox', 'no network plugin');
    },
    answer: 'Pod default/sandbox is blocked: its sandbox cannot be created: no network plugin.',
    ends: 'The container runtime or the network plugin of the node; the agent tries again.',
  },
  {
    title: 'a volume that another node has',
    name: 'attached',
    async arrange() {
      await put(kinds.pods, bound('attached'), waiting('ContainerCreating'));
      await event(
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
    async arrange() {
      await put(kinds.pods, bound('pulling'), waiting('ContainerCreating'));
      await event(kinds.pods, 'pulling', 'Pulling', 'Pulling image "nginx:1.27"');
    },
    answer: 'Pod default/pulling is blocked: the image nginx:1.27 of its container app is being pulled.',
    ends: 'The agent of the node, once it has started the container.',
  },
  {
    title: 'a container that is being created',
    name: 'creating',
    arrange: () => put(kinds.pods, bound('creating'), waiting('ContainerCreating')),
    answer: 'Pod default/creating is blocked: its container app is being started (ContainerCreating).',
    ends: 'The agent of the node, once it has started the container.',
  },
  {
    title: 'a pod that its agent has not seen',
    name: 'unseen',
    arrange: () => put(kinds.pods, bound('unseen')),
    answer: 'Pod default/unseen is blocked: the agent of the node n has not begun with it.',
    ends: 'The agent of the node, as soon as it sees the pod.',
  },
  {
    title: 'a container that cannot be created',
    name: 'create-error',
    arrange: () => put(kinds.pods, bound('create-error'), waiting('CreateContainerError', 'the name is in use')),
    answer: 'Pod default/create-error is blocked: its container app cannot be created: the name is in use.',
    ends: 'A container that can be created; the agent tries again.',
  },
  {
    title: 'an image name that is none',
    name: 'image-name',
    arrange: () => put(kinds.pods, bound('image-name'), waiting('InvalidImageName', "couldn't parse image name")),
    answer: "Pod default/image-name is blocked: the image nginx:1.27 of its container app cannot be pulled: couldn't parse image name.",
    ends: 'Another image, or another imagePullPolicy.',
  },
  {
    title: 'a liveness probe that fails',
    name: 'liveness',
    async arrange() {
      const terminated = {exitCode: 137, reason: 'Error', finishedAt: then, startedAt: then};
      await put(kinds.pods, bound('liveness'), waiting('CrashLoopBackOff', 'back-off 40s restarting failed container=app', {terminated}));
      await event(kinds.pods, 'liveness', 'Killing', 'Container app failed liveness probe, will be restarted');
      await event(kinds.pods, 'liveness', 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500');
    },
    answer:
      'Pod default/liveness is blocked: its container app is restarted again and again, as its liveness probe fails: HTTP probe failed with statuscode: 500.',
    ends: 'A program that answers the probe in time, or another livenessProbe. The agent starts it again at 2026-01-01T00:01:10Z.',
  },
  {
    title: 'a container that has ended',
    name: 'ended',
    arrange: () =>
      put(kinds.pods, bound('ended'), {
        phase: 'Running',
        containerStatuses: [
          {...waiting('').containerStatuses[0], state: {terminated: {exitCode: 0, reason: 'Completed', finishedAt: then}}},
        ],
      }),
    answer: 'Pod default/ended is blocked: its container app has ended with code 0 (Completed) and is not ready.',
    ends: 'The agent of the node starts it again if its restart policy says so: kubectl logs ended -n default -c app.',
  },
  {
    title: 'a resize that the node cannot do',
    name: 'resize',
    arrange: () =>
      put(kinds.pods, bound('resize'), {
        ...running,
        conditions: [...running.conditions, condition('PodResizePending', 'True', 'Infeasible', "Node didn't have enough capacity: cpu")],
      }),
    answer: "Pod default/resize is blocked: its new resources are not in force: Infeasible: Node didn't have enough capacity: cpu.",
    ends: 'Smaller resources: its node never has so much.',
  },
  {
    title: 'a readiness gate that is false',
    name: 'gate',
    arrange: () =>
      put(kinds.pods, bound('gate', {readinessGates: [{conditionType: 'example.com/lb'}]}), {
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
    arrange: () =>
      put(kinds.pods, bound('unready'), {...running, conditions: [condition('Ready', 'False', 'NodeShutdown', 'the node shuts down')]}),
    answer: 'Pod default/unready is blocked: it is not ready: NodeShutdown: the node shuts down.',
    ends: 'The agent of its node, once it reports that the pod is ready.',
  },
  {
    title: 'a pod that was evicted',
    name: 'evicted',
    arrange: () =>
      put(kinds.pods, bound('evicted'), {phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.'}),
    answer: 'Pod default/evicted is blocked: it has failed and does not run again: Evicted: The node was low on resource: memory.',
    ends: 'A new pod: its owner makes one, if it has an owner that does.',
  },
  {
    title: 'a taint that the pod does not tolerate',
    name: 'tainted',
    async arrange() {
      await aNode('leaving', {taints: [{key: 'example.com/leaving', effect: 'NoExecute', timeAdded: then}]});
      await put(kinds.pods, bound('tainted', {nodeName: 'leaving'}), running);
    },
    answer:
      'Pod default/tainted is blocked: its node leaving has the taint example.com/leaving:NoExecute, which it does not tolerate, and it is to be evicted.',
    ends: 'The eviction by the taint-eviction-controller, or the end of the taint.',
  },
  {
    title: 'a node that does not confirm a deletion',
    name: 'unconfirmed',
    async arrange() {
      await aNode('silent', {ready: 'Unknown'});
      await put(kinds.pods, bound('unconfirmed', {nodeName: 'silent', tolerations: [{operator: 'Exists'}]}), running);
      await at.delete(kinds.pods, 'unconfirmed');
    },
    answer: 'Pod default/unconfirmed is blocked by Node silent: its agent does not report any more.',
    ends: 'The agent of silent, once the machine, its network and the agent work again.',
  },
  {
    title: 'a deletion on a node that is gone',
    name: 'homeless',
    async arrange() {
      await put(kinds.pods, bound('homeless', {nodeName: 'gone'}), running);
      await at.delete(kinds.pods, 'homeless');
    },
    answer: 'Pod default/homeless is blocked: it is being deleted, and its node gone does not exist any more.',
    ends: 'The pod-garbage-collector-controller of the controller manager deletes it, as soon as it works.',
  },
  {
    title: 'a job that has not counted a pod',
    name: 'counted',
    arrange: async () => {
      const pod = aPod('counted');
      await put(kinds.pods, {...pod, metadata: {...pod.metadata, finalizers: ['batch.kubernetes.io/job-tracking']}});
      await at.delete(kinds.pods, 'counted');
    },
    answer:
      'Pod default/counted is blocked: it is being deleted, and the finalizer batch.kubernetes.io/job-tracking keeps it: its job has not counted it yet.',
    ends: 'Nothing: it has no job any more. The job-controller removes the finalizer of such pods when it starts again.',
  },
];

const nodes: readonly Omit<Row, 'kind'>[] = [
  {
    title: 'a node that has never reported',
    name: 'new',
    arrange: () => aNode('new', {ready: ''}),
    answer: 'Node new is blocked: its agent has never reported.',
    ends: 'The agent of new, as soon as it works.',
  },
  {
    title: 'a node whose lease has run out',
    name: 'lost',
    async arrange() {
      await aNode('lost', {ready: 'Unknown'});
      await put(kinds.leases, {
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
    arrange: () => aNode('routes', {conditions: [condition('NetworkUnavailable', 'True', 'NoRouteCreated', 'no route')]}),
    answer: 'Node routes is blocked: it has the condition NetworkUnavailable, with which it takes no new pods: NoRouteCreated: no route.',
    ends: 'A route to the node, by the route controller of the cloud provider.',
  },
  {
    title: 'a node short of memory',
    name: 'pressed',
    arrange: () =>
      aNode('pressed', {
        conditions: [condition('MemoryPressure', 'True', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available')],
      }),
    answer:
      'Node pressed is blocked: it has the condition MemoryPressure, with which it takes no new pods: KubeletHasInsufficientMemory: kubelet has insufficient memory available.',
    ends: 'Less use of what is short: the agent evicts pods meanwhile.',
  },
  {
    title: 'a node that no cloud has initialized',
    name: 'cloudless',
    arrange: () => aNode('cloudless', {taints: [{key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule'}]}),
    answer:
      'Node cloudless is blocked: it has the taint node.cloudprovider.kubernetes.io/uninitialized until a cloud provider has initialized it.',
    ends: 'The cloud-node-controller of the cloud provider, as soon as it works.',
  },
  {
    title: 'a node that is ready and keeps its taint',
    name: 'stale',
    arrange: () => aNode('stale', {taints: [{key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule'}]}),
    answer: 'Node stale is blocked: its agent reports that it is ready, and it still has the taint node.kubernetes.io/not-ready.',
    ends: 'The node-lifecycle-controller of the controller manager, as soon as it works.',
  },
];

const set = {replicas: 3, observedGeneration: 1, fullyLabeledReplicas: 3};
const workloads: readonly Row[] = [
  ...Object.entries(refusals).map(([title, {message, answer, ends}], index) => ({
    title,
    kind: kinds.replicaSets,
    name: `refused-${index}`,
    arrange: () =>
      put(kinds.replicaSets, aReplicaSet(`refused-${index}`), {
        replicas: 0,
        observedGeneration: 1,
        conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', message)],
      }),
    answer,
    ends,
  })),
  {
    title: 'a replica set that its controller has not seen',
    kind: kinds.replicaSets,
    name: 'new',
    arrange: () => put(kinds.replicaSets, aReplicaSet('new')),
    answer: 'ReplicaSet default/new is blocked: the replicaset-controller has not looked at it.',
    ends: 'The replicaset-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a replica set with too many pods',
    kind: kinds.replicaSets,
    name: 'many',
    arrange: () => put(kinds.replicaSets, aReplicaSet('many', {replicas: 1}), {...set, availableReplicas: 3, readyReplicas: 3}),
    answer: 'ReplicaSet default/many is blocked: it has 3 pods, and should have 1.',
    ends: '1 pod that is ready.',
  },
  {
    title: 'a pod that is ready for too short a time',
    kind: kinds.replicaSets,
    name: 'young',
    async arrange() {
      await put(kinds.replicaSets, aReplicaSet('young', {minReadySeconds: 3600}), {replicas: 1, readyReplicas: 1, observedGeneration: 1});
      const {metadata} = await at.client.resource(kinds.replicaSets).get('young', {namespace: 'default'});
      const pod = bound('young');
      const ownerReferences = [{apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'young', uid: metadata!.uid!, controller: true}];
      await put(kinds.pods, {...pod, metadata: {...pod.metadata, labels: {app: 'x'}, ownerReferences}}, running);
    },
    answer: 'ReplicaSet default/young is blocked: its pod young is ready and counts as available after 3600 s.',
    ends: '1 pod that is ready.',
  },
  {
    title: 'a stateful set whose pods are refused',
    kind: kinds.statefulSets,
    name: 'refused',
    async arrange() {
      await put(
        kinds.statefulSets,
        {metadata: {name: 'refused'}, spec: {serviceName: 'x', selector, template: aTemplate('x')}},
        {replicas: 0, observedGeneration: 1},
      );
      await event(
        kinds.statefulSets,
        'refused',
        'FailedCreate',
        'create Pod refused-0 in StatefulSet refused failed error: pods "refused-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3',
      );
    },
    answer:
      'StatefulSet default/refused is blocked: the resource quota small refuses its pods: pods=1 is asked for, pods=3 is used, and the limit is pods=3.',
    ends: 'A higher quota small, or the end of other objects in the namespace default.',
  },
  {
    title: 'a stateful set that replaces nothing by itself',
    kind: kinds.statefulSets,
    name: 'manual',
    arrange: () =>
      put(
        kinds.statefulSets,
        {
          metadata: {name: 'manual'},
          spec: {replicas: 3, serviceName: 'x', selector, template: aTemplate('x'), updateStrategy: {type: 'OnDelete'}},
        },
        {
          replicas: 3,
          readyReplicas: 3,
          availableReplicas: 3,
          updatedReplicas: 1,
          currentRevision: 'a',
          updateRevision: 'b',
          observedGeneration: 1,
        },
      ),
    answer:
      'StatefulSet default/manual is blocked: 1 of 3 pods are of its newest template, and with the strategy OnDelete the others stay until somebody deletes them.',
    ends: 'The deletion of its old pods.',
  },
  {
    title: 'a daemon set that replaces nothing by itself',
    kind: kinds.daemonSets,
    name: 'manual',
    arrange: () =>
      put(
        kinds.daemonSets,
        {metadata: {name: 'manual'}, spec: {selector, template: aTemplate('x'), updateStrategy: {type: 'OnDelete'}}},
        {
          currentNumberScheduled: 2,
          desiredNumberScheduled: 2,
          numberAvailable: 2,
          numberMisscheduled: 0,
          numberReady: 2,
          updatedNumberScheduled: 1,
          observedGeneration: 1,
        },
      ),
    answer:
      'DaemonSet default/manual is blocked: 1 of 2 pods are of its newest template, and with the strategy OnDelete the others stay until somebody deletes them.',
    ends: 'The deletion of its old pods.',
  },
  {
    title: 'an autoscaler whose target has no replicas',
    kind: kinds.horizontalPodAutoscalers,
    name: 'zero',
    arrange: () =>
      put(kinds.horizontalPodAutoscalers, anAutoscaler('zero'), {
        currentReplicas: 0,
        desiredReplicas: 0,
        conditions: [
          condition('AbleToScale', 'True', 'SucceededGetScale'),
          condition('ScalingActive', 'False', 'ScalingDisabled', 'scaling is disabled'),
        ],
      }),
    answer: 'HorizontalPodAutoscaler default/zero is blocked: Deployment web has no replicas, and with none it is not scaled.',
    ends: 'Replicas of Deployment web, set by hand.',
  },
  {
    title: 'an autoscaler at its limit',
    kind: kinds.horizontalPodAutoscalers,
    name: 'limit',
    arrange: () =>
      put(kinds.horizontalPodAutoscalers, anAutoscaler('limit'), {
        currentReplicas: 3,
        desiredReplicas: 3,
        conditions: [
          condition('AbleToScale', 'True', 'ReadyForNewScale'),
          condition('ScalingActive', 'True', 'ValidMetricFound'),
          condition('ScalingLimited', 'True', 'TooManyReplicas'),
        ],
      }),
    answer: 'HorizontalPodAutoscaler default/limit is blocked: its metrics ask for more replicas than its limit of 3.',
    ends: 'A higher spec.maxReplicas, or less load.',
  },
  {
    title: 'an autoscaler that nobody has looked at',
    kind: kinds.horizontalPodAutoscalers,
    name: 'new',
    arrange: () => put(kinds.horizontalPodAutoscalers, anAutoscaler('new')),
    answer: 'HorizontalPodAutoscaler default/new is blocked: the horizontal-pod-autoscaler-controller has not looked at it.',
    ends: 'The horizontal-pod-autoscaler-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a budget of pods without a controller',
    kind: kinds.podDisruptionBudgets,
    name: 'bare',
    arrange: () =>
      put(
        kinds.podDisruptionBudgets,
        {metadata: {name: 'bare'}, spec: {maxUnavailable: 1, selector}},
        {
          currentHealthy: 0,
          desiredHealthy: 0,
          disruptionsAllowed: 0,
          expectedPods: 0,
          observedGeneration: 1,
          conditions: [condition('DisruptionAllowed', 'False', 'SyncFailed', 'found no controllers for pod "x"')],
        },
      ),
    answer:
      'PodDisruptionBudget default/bare is blocked: it allows no eviction, as it cannot be computed: found no controllers for pod "x".',
    ends: 'Pods that a controller with a scale made, or minAvailable as a number.',
  },
  {
    title: 'a job whose last pods have to end',
    kind: kinds.jobs,
    name: 'ending',
    arrange: () =>
      put(kinds.jobs, aJob('ending'), {
        startTime: then,
        active: 0,
        terminating: 1,
        conditions: [{...condition('FailureTarget', 'True', 'BackoffLimitExceeded', 'too often'), lastProbeTime: then}],
      }),
    answer:
      'Job default/ending is blocked: its verdict is there (FailureTarget, BackoffLimitExceeded: too often), and its last pods have to end.',
    ends: 'The end of its last pods.',
  },
  {
    title: 'a job that its controller has not seen',
    kind: kinds.jobs,
    name: 'new',
    arrange: () => put(kinds.jobs, aJob('new')),
    answer: 'Job default/new is blocked: the job-controller has not looked at it.',
    ends: 'The job-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a job whose pods are refused',
    kind: kinds.jobs,
    name: 'refused',
    async arrange() {
      await put(kinds.jobs, aJob('refused'), {startTime: then});
      await event(
        kinds.jobs,
        'refused',
        'FailedCreate',
        'Error creating: pods "refused-" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found',
      );
    },
    answer: 'Job default/refused is blocked: its pods run as the service account robot, which does not exist.',
    ends: 'The creation of the service account robot in the namespace default.',
  },
  {
    title: 'a cron job that was late',
    kind: kinds.cronJobs,
    name: 'late',
    async arrange() {
      await put(kinds.cronJobs, aCronJob('late', '0 4 * * *'));
      await event(kinds.cronJobs, 'late', 'MissSchedule', 'Missed scheduled time to start a job: Thu, 01 Jan 2026 00:00:00 UTC');
    },
    answer:
      'CronJob default/late is blocked: it did not start its last job: Missed scheduled time to start a job: Thu, 01 Jan 2026 00:00:00 UTC.',
    ends: 'Its next time, 2026-01-01T04:00:00Z, if the cronjob-controller works then: spec.startingDeadlineSeconds is how late it may be.',
  },
  {
    title: 'a schedule that never comes',
    kind: kinds.cronJobs,
    name: 'never',
    arrange: () => put(kinds.cronJobs, aCronJob('never', '0 0 31 2 *')),
    answer: 'CronJob default/never is blocked: its schedule 0 0 31 2 * has no time within years.',
    ends: 'Another spec.schedule.',
  },
];

const aClaim = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, storageClassName: 'fast', ...spec},
});
const aVolume = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}, ...spec},
});

const storage: readonly Row[] = [
  {
    title: 'a claim whose volume is gone',
    kind: kinds.persistentVolumeClaims,
    name: 'lost',
    arrange: () => put(kinds.persistentVolumeClaims, aClaim('lost', {volumeName: 'gone'}), {phase: 'Lost'}),
    answer: 'PersistentVolumeClaim default/lost is blocked: its volume gone does not exist any more.',
    ends: 'Nothing ends it: the data are gone with the volume. Delete the claim, and create another one.',
  },
  {
    title: 'a claim for a volume that does not exist',
    kind: kinds.persistentVolumeClaims,
    name: 'named',
    arrange: () => put(kinds.persistentVolumeClaims, aClaim('named', {volumeName: 'absent'})),
    answer: 'PersistentVolumeClaim default/named is blocked: it asks for the volume absent, which does not exist.',
    ends: 'The creation of the volume absent.',
  },
  {
    title: 'a claim for the volume of another',
    kind: kinds.persistentVolumeClaims,
    name: 'taker',
    async arrange() {
      await put(kinds.persistentVolumes, aVolume('taken', {claimRef: {namespace: 'default', name: 'first'}}));
      await put(kinds.persistentVolumeClaims, aClaim('taker', {volumeName: 'taken'}));
    },
    answer: 'PersistentVolumeClaim default/taker is blocked: it asks for the volume taken, which belongs to the claim default/first.',
    ends: 'A claim for another volume.',
  },
  {
    title: 'a claim whose file system has to grow',
    kind: kinds.persistentVolumeClaims,
    name: 'grows',
    arrange: () =>
      put(kinds.persistentVolumeClaims, aClaim('grows'), {
        phase: 'Bound',
        conditions: [condition('FileSystemResizePending', 'True', '', 'Waiting for user to (re-)start a pod')],
      }),
    answer:
      'PersistentVolumeClaim default/grows is blocked: its volume does not have its new form yet: FileSystemResizePending (Waiting for user to (re-)start a pod).',
    ends: 'A pod that uses it: its node resizes the file system.',
  },
  {
    title: 'a volume that cannot be deleted',
    kind: kinds.persistentVolumes,
    name: 'failed',
    arrange: () => put(kinds.persistentVolumes, aVolume('failed'), {phase: 'Failed', reason: 'VolumeFailedDelete', message: 'in use'}),
    answer: 'PersistentVolume failed is blocked: it cannot be reclaimed: VolumeFailedDelete: in use.',
    ends: 'The driver of the volume, once it has deleted it, or a deletion by hand.',
  },
  {
    title: 'a volume that its driver has to delete',
    kind: kinds.persistentVolumes,
    name: 'released',
    arrange: () =>
      put(
        kinds.persistentVolumes,
        aVolume('released', {persistentVolumeReclaimPolicy: 'Delete', claimRef: {namespace: 'default', name: 'x'}}),
        {phase: 'Released'},
      ),
    answer: 'PersistentVolume released is blocked: its claim default/x is gone, and its driver has not deleted it.',
    ends: 'The driver of the volume, once it has deleted it.',
  },
  {
    title: 'a volume that is still bound',
    kind: kinds.persistentVolumes,
    name: 'bound',
    async arrange() {
      await put(kinds.persistentVolumeClaims, aClaim('holder', {volumeName: 'bound'}));
      await put(kinds.persistentVolumes, {
        ...aVolume('bound', {claimRef: {namespace: 'default', name: 'holder'}}),
        metadata: {name: 'bound', finalizers: ['kubernetes.io/pv-protection']},
      });
      await at.delete(kinds.persistentVolumes, 'bound');
    },
    answer:
      'PersistentVolume bound is blocked: it is being deleted, and the finalizer kubernetes.io/pv-protection keeps it: the claim default/holder is still bound to the volume.',
    ends: 'The deletion of the claim default/holder.',
  },
  {
    title: 'devices that nobody has allocated',
    kind: kinds.resourceClaims,
    name: 'devices',
    arrange: () => put(kinds.resourceClaims, {metadata: {name: 'devices'}, spec: {devices: {}}}),
    answer: 'ResourceClaim default/devices is blocked: no devices are allocated to it, of 0 that the nodes offer.',
    ends: 'Devices that match and are free, once a pod that uses the claim is scheduled.',
  },
];

const aService = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: {name, ...metadata},
  spec: {ports: [{port: 443}], ...spec},
});
const webhook = (name: string, service: string) => ({
  name,
  clientConfig: {service: {name: service, namespace: 'default'}},
  rules: [{apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['none'], operations: ['CREATE']}],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
});

const api: readonly Row[] = [
  {
    title: 'a webhook behind a service without endpoints',
    kind: kinds.mutatingWebhookConfigurations,
    name: 'defaults',
    async arrange() {
      await put(kinds.services, aService('checker', {selector: {app: 'checker'}}));
      await put(kinds.mutatingWebhookConfigurations, {
        metadata: {name: 'defaults'},
        webhooks: [webhook('defaults.example.com', 'checker')],
      });
    },
    answer:
      'MutatingWebhookConfiguration defaults is blocked by Service default/checker: it has no endpoints, as no pod in its namespace matches its selector app=checker.',
    ends: 'Pods with these labels, or another selector.',
  },
  {
    title: 'a load balancer that is being deleted',
    kind: kinds.services,
    name: 'leaving',
    async arrange() {
      await put(kinds.services, aService('leaving', {}, {finalizers: ['service.kubernetes.io/load-balancer-cleanup']}));
      await event(kinds.services, 'leaving', 'DeleteLoadBalancerFailed', 'the cloud is away');
      await at.delete(kinds.services, 'leaving');
    },
    answer:
      'Service default/leaving is blocked: it is being deleted, and the finalizer service.kubernetes.io/load-balancer-cleanup keeps it: its load balancer is not deleted yet (the cloud is away).',
    ends: 'The service controller of the cloud provider, once it has deleted the load balancer.',
  },
  {
    title: 'an object that is to leave its dependents behind',
    kind: kinds.configMaps,
    name: 'orphans',
    async arrange() {
      await put(kinds.configMaps, {metadata: {name: 'orphans', finalizers: ['orphan']}});
      await at.delete(kinds.configMaps, 'orphans');
    },
    answer: 'ConfigMap default/orphans is blocked: the garbage collector has to remove it from the owners of its dependents first.',
    ends: 'The garbage-collector-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a namespace that its controller has not seen',
    kind: kinds.namespaces,
    name: 'ending',
    async arrange() {
      await put(kinds.namespaces, {metadata: {name: 'ending'}});
      await at.delete(kinds.namespaces, 'ending');
    },
    answer: 'Namespace ending is blocked: it is being deleted, and the namespace controller has not reported yet what is left in it.',
    ends: 'The namespace-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a quota that is not counted',
    kind: kinds.resourceQuotas,
    name: 'new',
    arrange: () => put(kinds.resourceQuotas, {metadata: {name: 'new'}, spec: {hard: {configmaps: '100'}}}),
    answer: 'ResourceQuota default/new is blocked: what it limits is not counted yet, and until then nothing of it can be created.',
    ends: 'The resourcequota-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a lease that nobody holds',
    kind: kinds.leases,
    name: 'free',
    arrange: () => put(kinds.leases, {metadata: {name: 'free'}, spec: {holderIdentity: '', renewTime: '2026-01-01T00:00:00.000000Z'}}),
    answer: 'Lease default/free is blocked: nobody holds it.',
    ends: 'A candidate that runs and takes it.',
  },
  {
    title: 'a definition in a protected group',
    kind: kinds.customResourceDefinitions,
    name: 'things.example.k8s.io',
    async arrange() {
      const names = {plural: 'things', kind: 'Thing', singular: 'thing', listKind: 'ThingList'};
      const versions = [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}];
      await put(kinds.customResourceDefinitions, {
        metadata: {name: 'things.example.k8s.io', annotations: {'api-approved.kubernetes.io': 'unapproved, for a test'}},
        spec: {group: 'example.k8s.io', scope: 'Cluster', names, versions},
      });
      await at.plane.clock.advance(5_000);
      await at.patch(kinds.customResourceDefinitions, 'things.example.k8s.io', {metadata: {annotations: null}}).catch(() => undefined);
    },
    answer:
      'CustomResourceDefinition things.example.k8s.io is blocked: its group is protected: UnapprovedAnnotation: not approved: "unapproved, for a test".',
    ends: 'Another group.',
  },
];

const anAutoscaler = (name: string) => ({
  metadata: {name},
  spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'web'}, maxReplicas: 3},
});
const aJob = (name: string) => ({
  metadata: {name},
  spec: {template: {spec: {restartPolicy: 'Never', containers: [{name: 'app', image: 'task'}]}}},
});
const aCronJob = (name: string, schedule: string) => ({metadata: {name}, spec: {schedule, jobTemplate: {spec: aJob('').spec}}});

test.before(() => aNode('n'));

const rows: readonly Row[] = [
  ...pods.map(row => ({...row, kind: kinds.pods as Kind})),
  ...nodes.map(row => ({...row, kind: kinds.nodes as Kind})),
  ...workloads,
  ...storage,
  ...api,
];

for (const {title, kind, name, namespace = 'default', arrange, answer, ends} of rows) {
  test.serial(`${kind.kind}: ${title}`, async t => {
    await arrange();

    const found = await at.why(kind, name, {namespace});
    t.deepEqual([found.answer, found.ends], [answer, ends]);
  });
}
