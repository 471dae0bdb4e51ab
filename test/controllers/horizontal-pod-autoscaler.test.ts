import test from 'ava';
import type {Autoscaler} from '#controllers/horizontal-pod-autoscaler/limits.js';
import {autoscalerReconciler} from '#controllers/horizontal-pod-autoscaler/reconcile.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {recordingLog} from '#test/runtime/environment.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';
import {aTemplate, actionsOn} from './workloads.js';

type Spec = NonNullable<Autoscaler['spec']>;

const share = (averageUtilization: number): Spec['metrics'] => [
  {type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}},
];

/** A deployment whose pods use this much each, of a request of 100m, on simulated nodes. */
const startEnvironment = async ({
  replicas = 2,
  cpu = '100m',
  args = [] as readonly string[],
  controllers = ',horizontal-pod-autoscaler-controller',
} = {}) => {
  const plane = await aPlane({
    nodes: 1,
    controllerManagerArgs: [
      `--controllers=serviceaccount-controller,deployment-controller,replicaset-controller,node-lifecycle-controller${controllers}`,
      ...args,
    ],
  });
  const own = actionsOn(plane);
  const {spec, metadata} = aTemplate({app: 'web'});
  const template = {
    metadata: {...metadata, annotations: {'simulation.plat.io/behavior': `{usage: {cpu: ${cpu}}}`}},
    spec: {
      ...spec!,
      schedulerName: 'default-scheduler',
      containers: [{name: 'c', image: 'example.com/app:1', resources: {requests: {cpu: '100m'}}}],
    },
  };
  await own.create(kinds.deployments, {metadata: {name: 'web'}, spec: {replicas, selector: {matchLabels: {app: 'web'}}, template}});
  return {
    ...own,
    plane,
    scale: (spec: Partial<Spec> = {}, name = 'web') =>
      own.create(kinds.horizontalPodAutoscalers, {
        metadata: {name},
        spec: {
          scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'web'},
          minReplicas: 1,
          maxReplicas: 10,
          metrics: share(50)!,
          ...spec,
        },
      }),
    hpa: (name = 'web') => own.get(kinds.horizontalPodAutoscalers, name),
    replicas: async () => (await own.get(kinds.deployments, 'web')).spec?.replicas,
    /** From now on every pod there is uses so much. */
    async uses(amount: string) {
      for (const {metadata: {name} = {}} of await own.list(kinds.pods))
        await own.patch(kinds.pods, name!, {metadata: {annotations: {'simulation.plat.io/behavior': `{usage: {cpu: ${amount}}}`}}});
    },
  };
};

const reported = ({status}: Autoscaler) =>
  Object.fromEntries((status?.conditions ?? []).map(({type, status: text, reason, message}) => [type, `${text} ${reason}: ${message}`]));

test('a deployment grows when its pods use more than the target, at most to twice its size at once, with an event', async t => {
  const env = await startEnvironment();
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  t.is(await env.replicas(), 2);
  await env.clock.advance(15_000);

  t.is(await env.replicas(), 4);
  const hpa = await env.hpa();
  t.deepEqual(reported(hpa), {
    AbleToScale: 'True SucceededRescale: the HPA controller was able to update the target scale to 4',
    ScalingActive:
      'True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)',
    ScalingLimited: 'False DesiredWithinRange: the desired count is within the acceptable range',
  });
  t.like(hpa.status, {
    currentReplicas: 2,
    desiredReplicas: 4,
    currentMetrics: [{type: 'Resource', resource: {name: 'cpu', current: {averageUtilization: 100, averageValue: '100m'}}}],
  });
  t.truthy(hpa.status?.lastScaleTime);
  t.deepEqual(await env.eventsOn('web').then(events => events.filter(text => text.includes('SuccessfulRescale'))), [
    'Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target',
  ]);
});

test('lower usage shrinks the deployment only after the stabilization window', async t => {
  const env = await startEnvironment({replicas: 6, cpu: '50m'});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  await env.clock.advance(15_000);
  t.like(reported(await env.hpa()), {AbleToScale: 'True ReadyForNewScale: recommended size matches current size'});
  await env.uses('10m');
  await env.clock.advance(285_000);
  t.is(await env.replicas(), 6);
  t.like(reported(await env.hpa()), {
    AbleToScale:
      'True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation',
  });
  await env.clock.advance(45_000);

  t.is(await env.replicas(), 2);
  t.true((await env.eventsOn('web')).includes('Normal SuccessfulRescale New size: 2; reason: All metrics below target'));
});

test('a behaviour takes pods away one by one', async t => {
  const env = await startEnvironment({replicas: 4, cpu: '1m'});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale({behavior: {scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: 'Pods', value: 1, periodSeconds: 60}]}}});
  const course: (number | undefined)[] = [];
  for (let i = 0; i < 6; i++) {
    await env.clock.advance(30_000);
    course.push(await env.replicas());
  }

  t.deepEqual(course, [3, 3, 2, 2, 1, 1]);
});

const none: NonNullable<Spec['metrics']>[number] = {
  type: 'External',
  external: {metric: {name: 'none'}, target: {type: 'Value', value: '1'}},
};

test('a deployment beyond its bounds is scaled whatever is measured, one of none is let alone', async t => {
  const env = await startEnvironment({replicas: 5});
  await using _ = env.plane;
  await env.scale({maxReplicas: 3, metrics: [none]});
  await env.clock.advance(15_000);
  t.is(await env.replicas(), 3);
  t.true(
    (await env.eventsOn('web')).includes('Normal SuccessfulRescale New size: 3; reason: Current number of replicas above Spec.MaxReplicas'),
  );

  await env.patch(kinds.horizontalPodAutoscalers, 'web', {spec: {minReplicas: 4, maxReplicas: 6}});
  await env.clock.advance(15_000);
  t.is(await env.replicas(), 4);
  t.true(
    (await env.eventsOn('web')).includes('Normal SuccessfulRescale New size: 4; reason: Current number of replicas below Spec.MinReplicas'),
  );

  await env.patch(kinds.deployments, 'web', {spec: {replicas: 0}});
  await env.clock.advance(15_000);
  t.is(await env.replicas(), 0);
  t.like(reported(await env.hpa()), {
    ScalingActive: 'False ScalingDisabled: scaling is disabled since the replica count of the target is zero',
  });
});

const external: NonNullable<Spec['metrics']>[number] = {
  type: 'External',
  external: {metric: {name: 'queue'}, target: {type: 'AverageValue', averageValue: '1'}},
};

test('a metric without a value keeps a deployment from shrinking, not from growing', async t => {
  const env = await startEnvironment({replicas: 2});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale({metrics: [external, ...share(50)!]});
  await env.clock.advance(15_000);
  t.is(await env.replicas(), 4);
  t.deepEqual(
    (await env.hpa()).status?.currentMetrics?.map(({type}) => type),
    ['', 'Resource'],
  );

  await env.clock.advance(60_000);
  await env.uses('1m');
  await env.clock.advance(330_000);
  t.is(await env.replicas(), 10);
  t.like(reported(await env.hpa()), {
    ScalingActive:
      'False FailedGetExternalMetric: the HPA was unable to compute the replica count: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.plat.io)',
  });
  const events = await env.eventsOn('web');
  t.true(events.some(text => text.startsWith('Warning FailedGetExternalMetric unable to get external metric default/queue/nil: ')));
  t.true(
    events.some(text =>
      text.startsWith(
        'Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 2), first error is: failed to get queue external metric value: failed to get queue external metric: unable to get',
      ),
    ),
  );
});

test('a missing target is reported, and used once it exists', async t => {
  const env = await startEnvironment();
  await using _ = env.plane;
  await env.scale({scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'other'}}, 'lost');
  await env.scale({scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Nonsense', name: 'other'}}, 'odd');
  await env.clock.advance(15_000);

  t.deepEqual(reported(await env.hpa('lost')), {
    AbleToScale:
      'False FailedGetScale: the HPA controller was unable to get the target\'s current scale: deployments.apps "other" not found',
  });
  t.deepEqual(reported(await env.hpa('odd')), {
    AbleToScale:
      'False FailedGetScale: the HPA controller was unable to get the target\'s current scale: no matches for kind "Nonsense" in group "apps"',
  });
  t.true((await env.eventsOn('lost')).includes('Warning FailedGetScale deployments.apps "other" not found'));
  await env.patch(kinds.horizontalPodAutoscalers, 'lost', {spec: {scaleTargetRef: {name: 'web'}}});
  await env.clock.advance(15_000);
  t.regex(reported(await env.hpa('lost'))['AbleToScale'] ?? '', /^True /);
});

/**
 * The controller over a cache that holds one autoscaler of a deployment, with a client whose first writes of scales
 * fail so.
 */
const alone = async (env: Awaited<ReturnType<typeof startEnvironment>>, ...failures: (Error | 'conflict')[]) => {
  const {plane, clock, client} = env;
  const meter = new MetricsRegistry();
  const reported: string[] = [];
  const report = (_: unknown, reason: string, message: string) => void reported.push(`${reason}: ${message}`);
  const resource = (kind: Kind) => {
    const own = client.resource(kind);
    const update = async (object: KubeObject, how?: {readonly subresource?: string}) => {
      const failure = how?.subresource === 'scale' ? failures.shift() : undefined;
      if (failure === 'conflict') await env.patch(kinds.deployments, 'web', {metadata: {annotations: {left: `${failures.length}`}}});
      else if (failure) throw failure;
      return own.update(object, how);
    };
    return {get: own.get.bind(own), list: own.list.bind(own), update};
  };
  const options = {
    concurrentHorizontalPodAutoscalerSyncs: 1,
    horizontalPodAutoscalerCpuInitializationPeriod: 300_000,
    horizontalPodAutoscalerDownscaleStabilization: 300_000,
    horizontalPodAutoscalerInitialReadinessDelay: 30_000,
    horizontalPodAutoscalerSyncPeriod: 15_000,
    horizontalPodAutoscalerTolerance: 0.1,
  };
  const context = contextOver(
    plane,
    [{...(await env.hpa()), kind: 'HorizontalPodAutoscaler'}, ...(await env.list(kinds.pods)).map(pod => ({...pod, kind: 'Pod'}))],
    options,
  );
  const reconcile = autoscalerReconciler({
    ...context,
    clock,
    meter,
    events: {normal: report, warning: report},
    client: {...client, resource: resource as unknown as Client['resource']},
  });
  const {log, lines} = recordingLog();
  const again = () => reconcile({namespace: 'default', name: 'web'}, {...attempt, log});
  const result = await again();
  return {
    result,
    reported,
    again,
    errors: () => lines.filter(line => line.startsWith('error')).length,
    metric: (name: string, labels: Record<string, string> = {}) => meter.value(`horizontal_pod_autoscaler_controller_${name}`, labels),
  };
};

test('reconciliations are counted, and a scale that cannot be written is reported and retried a period later', async t => {
  const env = await startEnvironment({controllers: ''});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  const refused = await alone(env, new Error('no'));
  t.deepEqual(refused.result, {kind: 'requeue', afterMs: 15_000});
  t.deepEqual(refused.reported, [
    'FailedRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target; error: no',
  ]);
  t.like(reported(await env.hpa()), {AbleToScale: 'False FailedUpdateScale: the HPA controller was unable to update the target scale: no'});
  t.is(refused.metric('reconciliations_total', {action: 'none', error: 'internal'}), 1);

  const done = await alone(env);
  t.is(await env.replicas(), 4);
  t.is(done.metric('reconciliations_total', {action: 'scale_up', error: 'none'}), 1);
  t.is(done.metric('metric_computation_total', {action: 'scale_up', error: 'none', metric_type: 'Resource'}), 1);
  t.is(done.metric('desired_replicas', {namespace: 'default', hpa_name: 'web'}), 4);
});

test('a failure is logged as an error when it begins or changes, not once in every period', async t => {
  const env = await startEnvironment({controllers: ''});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  const {again, errors} = await alone(env, new Error('one'), new Error('one'), new Error('two'));
  t.is(errors(), 1);
  await again();
  t.is(errors(), 1);
  await again();
  t.is(errors(), 2);
});

test('a scale that others change at the same time is written in the same sync, unless they go on', async t => {
  const env = await startEnvironment({controllers: ''});
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  const five = Array<'conflict'>(5).fill('conflict');
  t.regex((await alone(env, ...five)).reported.join(), /^FailedRescale: New size: 4; .* the object has been modified/);
  t.is(await env.replicas(), 2);
  const {reported: events} = await alone(env, ...five.slice(1));

  t.is(await env.replicas(), 4);
  t.deepEqual(events, ['SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target']);
});

test('pods that two autoscalers select are scaled by neither, until one is deleted', async t => {
  const env = await startEnvironment();
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale({}, 'a');
  await env.scale({}, 'b');
  await env.clock.advance(30_000);
  const text = 'pods by selector app=web are controlled by multiple HPAs: [default/a default/b]';

  t.is(reported(await env.hpa('b'))['ScalingActive'], `False AmbiguousSelector: ${text}`);
  t.true((await env.eventsOn('b')).includes(`Warning AmbiguousSelector ${text}`));
  await env.remove(kinds.horizontalPodAutoscalers, 'a');
  await env.clock.advance(15_000);
  t.like(reported(await env.hpa('b')), {
    ScalingActive:
      'True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)',
  });
});

test('a tolerance of its own direction holds, and the flags where there is none', async t => {
  const env = await startEnvironment({
    cpu: '52m',
    args: ['--horizontal-pod-autoscaler-tolerance=0.2', '--horizontal-pod-autoscaler-sync-period=5s'],
  });
  await using _ = env.plane;
  await env.clock.advance(60_000);
  await env.scale();
  await env.clock.advance(5_000);
  t.is(await env.replicas(), 2);
  const {resourceVersion} = (await env.hpa()).metadata!;
  await env.clock.advance(30_000);
  t.is((await env.hpa()).metadata?.resourceVersion, resourceVersion, 'a look that finds nothing new writes nothing');
  await env.patch(kinds.horizontalPodAutoscalers, 'web', {spec: {behavior: {scaleUp: {tolerance: '0.01'}}}});
  await env.clock.advance(5_000);
  t.is(await env.replicas(), 3);
});
