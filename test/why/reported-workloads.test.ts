import {bound, condition, explains, running, reportedAt, type Row} from './reported.js';
import {aTemplate, kinds} from './situations.js';

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

const anAutoscaler = (name: string) => ({
  metadata: {name},
  spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'web'}, maxReplicas: 3},
});
const aJob = (name: string) => ({
  metadata: {name},
  spec: {template: {spec: {restartPolicy: 'Never', containers: [{name: 'app', image: 'task'}]}}},
});
const aCronJob = (name: string, schedule: string) => ({metadata: {name}, spec: {schedule, jobTemplate: {spec: aJob('').spec}}});

const set = {replicas: 3, observedGeneration: 1, fullyLabeledReplicas: 3};
const workloads: readonly Row[] = [
  ...Object.entries(refusals).map(([title, {message, answer, ends}], index): Row => ({
    title,
    kind: kinds.replicaSets,
    name: `refused-${index}`,
    arrange: at =>
      at.put(kinds.replicaSets, aReplicaSet(`refused-${index}`), {
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
    arrange: at => at.put(kinds.replicaSets, aReplicaSet('new')),
    answer: 'ReplicaSet default/new is blocked: the replicaset-controller has not looked at it.',
    ends: 'The replicaset-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a replica set with too many pods',
    kind: kinds.replicaSets,
    name: 'many',
    arrange: at => at.put(kinds.replicaSets, aReplicaSet('many', {replicas: 1}), {...set, availableReplicas: 3, readyReplicas: 3}),
    answer: 'ReplicaSet default/many is blocked: it has 3 pods, and should have 1.',
    ends: '1 pod that is ready.',
  },
  {
    title: 'a pod that is ready for too short a time',
    kind: kinds.replicaSets,
    name: 'young',
    async arrange(at) {
      await at.put(kinds.replicaSets, aReplicaSet('young', {minReadySeconds: 3600}), {
        replicas: 1,
        readyReplicas: 1,
        observedGeneration: 1,
      });
      const {metadata} = await at.situations.client.resource(kinds.replicaSets).get('young', {namespace: 'default'});
      const pod = bound('young');
      const ownerReferences = [{apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'young', uid: metadata!.uid!, controller: true}];
      await at.put(kinds.pods, {...pod, metadata: {...pod.metadata, labels: {app: 'x'}, ownerReferences}}, running);
    },
    answer: 'ReplicaSet default/young is blocked: its pod young is ready and counts as available after 3600 s.',
    ends: '1 pod that is ready.',
  },
  {
    title: 'a stateful set whose pods are refused',
    kind: kinds.statefulSets,
    name: 'refused',
    async arrange(at) {
      await at.put(
        kinds.statefulSets,
        {metadata: {name: 'refused'}, spec: {serviceName: 'x', selector, template: aTemplate('x')}},
        {replicas: 0, observedGeneration: 1},
      );
      await at.event(
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
    arrange: at =>
      at.put(
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
    arrange: at =>
      at.put(
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
    arrange: at =>
      at.put(kinds.horizontalPodAutoscalers, anAutoscaler('zero'), {
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
    arrange: at =>
      at.put(kinds.horizontalPodAutoscalers, anAutoscaler('limit'), {
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
    arrange: at => at.put(kinds.horizontalPodAutoscalers, anAutoscaler('new')),
    answer: 'HorizontalPodAutoscaler default/new is blocked: the horizontal-pod-autoscaler-controller has not looked at it.',
    ends: 'The horizontal-pod-autoscaler-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a budget of pods without a controller',
    kind: kinds.podDisruptionBudgets,
    name: 'bare',
    arrange: at =>
      at.put(
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
    arrange: at =>
      at.put(kinds.jobs, aJob('ending'), {
        startTime: reportedAt,
        active: 0,
        terminating: 1,
        conditions: [{...condition('FailureTarget', 'True', 'BackoffLimitExceeded', 'too often'), lastProbeTime: reportedAt}],
      }),
    answer:
      'Job default/ending is blocked: its verdict is there (FailureTarget, BackoffLimitExceeded: too often), and its last pods have to end.',
    ends: 'The end of its last pods.',
  },
  {
    title: 'a job that its controller has not seen',
    kind: kinds.jobs,
    name: 'new',
    arrange: at => at.put(kinds.jobs, aJob('new')),
    answer: 'Job default/new is blocked: the job-controller has not looked at it.',
    ends: 'The job-controller of the controller manager, as soon as it works.',
  },
  {
    title: 'a job whose pods are refused',
    kind: kinds.jobs,
    name: 'refused',
    async arrange(at) {
      await at.put(kinds.jobs, aJob('refused'), {startTime: reportedAt});
      await at.event(
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
    async arrange(at) {
      await at.put(kinds.cronJobs, aCronJob('late', '0 4 * * *'));
      await at.event(kinds.cronJobs, 'late', 'MissSchedule', 'Missed scheduled time to start a job: Thu, 01 Jan 2026 00:00:00 UTC');
    },
    answer:
      'CronJob default/late is blocked: it did not start its last job: Missed scheduled time to start a job: Thu, 01 Jan 2026 00:00:00 UTC.',
    ends: 'Its next time, 2026-01-01T04:00:00Z, if the cronjob-controller works then: spec.startingDeadlineSeconds is how late it may be.',
  },
  {
    title: 'a schedule that never comes',
    kind: kinds.cronJobs,
    name: 'never',
    arrange: at => at.put(kinds.cronJobs, aCronJob('never', '0 0 31 2 *')),
    answer: 'CronJob default/never is blocked: its schedule 0 0 31 2 * has no time within years.',
    ends: 'Another spec.schedule.',
  },
];

await explains(workloads);
