import type {CronJob} from '#controllers/cronjob/kinds.js';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import {home, type Stage} from '#test/controllers/faults/stage.js';
import {labels, selector, template, minute, aPod, nodes, nodeWith} from './objects.js';

const jobTemplate = () => {
  const {spec, ...rest} = template();
  return {...rest, spec: {...spec!, restartPolicy: 'Never'}};
};

const newTemplate = {spec: {template: template(2)}};
const jobEnds = async ({client, clock}: Stage) => {
  const jobs = client.resource(kinds.jobs);
  const time = wireTime(clock.now());
  const why = {status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: '', message: ''};
  for (const {metadata, status} of (await jobs.list()).items) {
    if (status?.completionTime) continue;
    const conditions = ['SuccessCriteriaMet', 'Complete'].map(type => ({type, ...why}));
    await jobs.patch(
      metadata!.name!,
      'merge',
      {status: {startTime: time, completionTime: time, conditions}},
      {namespace: home, subresource: 'status'},
    );
  }
};

const workload = [kinds.pods, kinds.replicaSets] as const;

/** Scenarios of the controllers of workloads. */
export const workloadScenarios: Readonly<Record<string, Scenario>> = {
  cronjob: {
    steps: [
      stage =>
        stage.make<CronJob>(kinds.cronJobs, {
          metadata: {name: 'c'},
          spec: {schedule: '*/10 * * * *', successfulJobsHistoryLimit: 1, jobTemplate: {spec: {template: jobTemplate()}}},
        }),
      () => Promise.resolve(),
      jobEnds,
      jobEnds,
      jobEnds,
    ],
    settleMs: 8 * minute,
    touch: kinds.cronJobs,
    compare: [kinds.cronJobs, kinds.jobs],
  },
  daemonset: {
    steps: [
      async stage => {
        await stage.make(kinds.nodes, ...['n1', 'n2', 'n3'].map(name => nodeWith(name)));
        await stage.make(kinds.daemonSets, {metadata: {name: 'd'}, spec: {selector, template: template()}});
      },
      nodes,
      stage => stage.change(kinds.daemonSets, 'd', newTemplate),
      nodes,
      stage => stage.remove(kinds.nodes, 'n3'),
      nodes,
    ],
    touch: kinds.daemonSets,
    compare: [kinds.daemonSets, kinds.pods, kinds.controllerRevisions],
  },
  deployment: {
    // Replica sets have no pods here: the scenario plays their controller.
    steps: [
      stage => stage.make(kinds.deployments, {metadata: {name: 'd'}, spec: {replicas: 3, selector, template: template()}}),
      setsFollow,
      stage => stage.change(kinds.deployments, 'd', newTemplate),
      setsFollow,
      setsFollow,
      setsFollow,
      setsFollow,
      stage => stage.change(kinds.deployments, 'd', {spec: {replicas: 5}}),
      setsFollow,
    ],
    touch: kinds.deployments,
    compare: [kinds.deployments, kinds.replicaSets],
  },
  disruption: {
    steps: [
      async stage => {
        await stage.make(kinds.podDisruptionBudgets, {metadata: {name: 'b'}, spec: {minAvailable: 1, selector}});
        await stage.make(kinds.pods, aPod('one'), aPod('two'), aPod('three'));
      },
      nodes,
      async stage => {
        const eviction = (name: string) =>
          stage.client.request('POST', `/api/v1/namespaces/${home}/pods/${name}/eviction`, {
            body: {apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name, namespace: home}},
          });
        await eviction('one');
      },
      nodes,
      stage =>
        stage.change(
          kinds.pods,
          'two',
          {
            status: {
              conditions: [
                {
                  type: 'DisruptionTarget',
                  status: 'True',
                  reason: 'EvictionByEvictionAPI',
                  lastTransitionTime: wireTime(stage.clock.now()),
                },
              ],
            },
          },
          'status',
        ),
    ],
    settleMs: 3 * minute,
    touch: kinds.podDisruptionBudgets,
    compare: [kinds.podDisruptionBudgets, kinds.pods],
  },
  'horizontal-pod-autoscaler': {
    // Nothing is measured here: the minimum counts.
    steps: [
      async stage => {
        await stage.make(kinds.deployments, {metadata: {name: 'd'}, spec: {replicas: 1, selector, template: template()}});
        const metrics = [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 50}}}];
        await stage.make(kinds.horizontalPodAutoscalers, {
          metadata: {name: 'h'},
          spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'd'}, minReplicas: 3, maxReplicas: 5, metrics},
        });
      },
      stage => stage.change(kinds.horizontalPodAutoscalers, 'h', {spec: {minReplicas: 1, maxReplicas: 2}}),
    ],
    settleMs: minute,
    touch: kinds.horizontalPodAutoscalers,
    compare: [kinds.horizontalPodAutoscalers, kinds.deployments],
    // Keeps the last desired count while nothing can be measured; a new controller has none yet.
    blurred: ['desiredReplicas'],
  },
  job: {
    steps: [
      stage =>
        stage.make(kinds.jobs, {metadata: {name: 'j'}, spec: {completions: 3, parallelism: 2, backoffLimit: 2, template: jobTemplate()}}),
      stage => stage.nodes('Succeeded'),
      stage =>
        stage.make(kinds.jobs, {
          metadata: {name: 'bad'},
          spec: {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimit: 0, template: jobTemplate()},
        }),
      stage => stage.nodes('Failed'),
    ],
    settleMs: 2 * minute,
    touch: kinds.jobs,
    compare: [kinds.jobs, kinds.pods],
  },
  replicaset: {
    steps: [
      stage => stage.make(kinds.replicaSets, {metadata: {name: 'r'}, spec: {replicas: 3, selector, template: template()}}),
      nodes,
      stage => stage.change(kinds.replicaSets, 'r', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.replicaSets,
    compare: [...workload],
  },
  replicationcontroller: {
    steps: [
      stage =>
        stage.make(kinds.replicationControllers, {metadata: {name: 'r'}, spec: {replicas: 3, selector: labels, template: template()}}),
      nodes,
      stage => stage.change(kinds.replicationControllers, 'r', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.replicationControllers,
    compare: [kinds.replicationControllers, kinds.pods],
  },
  statefulset: {
    steps: [
      stage =>
        stage.make(kinds.statefulSets, {
          metadata: {name: 's'},
          spec: {
            replicas: 3,
            serviceName: 's',
            selector,
            template: template(),
            volumeClaimTemplates: [
              {metadata: {name: 'data'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}},
            ],
          },
        }),
      nodes,
      stage => stage.change(kinds.statefulSets, 's', newTemplate),
      nodes,
      stage => stage.change(kinds.statefulSets, 's', {spec: {replicas: 1}}),
      nodes,
    ],
    touch: kinds.statefulSets,
    compare: [kinds.statefulSets, kinds.pods, kinds.controllerRevisions, kinds.persistentVolumeClaims],
  },
  'ttl-after-finished': {
    steps: [
      stage =>
        stage.make(
          kinds.jobs,
          ...['one', 'two'].map(name => ({metadata: {name}, spec: {ttlSecondsAfterFinished: 20, template: jobTemplate()}})),
          {metadata: {name: 'kept'}, spec: {template: jobTemplate()}},
        ),
      jobEnds,
    ],
    touch: kinds.jobs,
    compare: [kinds.jobs],
  },
  'pod-garbage-collector': {
    args: ['--terminated-pod-gc-threshold=1'],
    steps: [
      async stage => {
        await stage.make(kinds.nodes, nodeWith('there'));
        for (const name of ['old', 'new']) {
          await stage.make(kinds.pods, aPod(name, {nodeName: 'there'}));
          await stage.change(kinds.pods, name, {status: {phase: 'Succeeded'}}, 'status');
          await stage.clock.advance(1_000);
        }
        await stage.make(
          kinds.pods,
          aPod('lost', {nodeName: 'gone'}, {finalizers: ['example.com/hold']}),
          aPod('kept', {nodeName: 'there'}),
        );
        await stage.change(kinds.pods, 'lost', {status: {phase: 'Running'}}, 'status');
      },
    ],
    settleMs: 5 * minute,
    touch: kinds.pods,
    compare: [kinds.pods],
  },
};

/** Acts as the replica set controller: the desired number of pods runs. */
async function setsFollow({client}: Stage): Promise<void> {
  const sets = client.resource(kinds.replicaSets);
  for (const {metadata, spec} of (await sets.list()).items) {
    const {replicas = 0} = spec!;
    const status = {
      replicas,
      fullyLabeledReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      observedGeneration: metadata!.generation!,
    };
    await sets.patch(metadata!.name!, 'merge', {status}, {namespace: home, subresource: 'status'});
  }
}
