import test from 'ava';
import type {Autoscaler} from '#controllers/horizontal-pod-autoscaler/limits.js';
import {autoscalerReconciler} from '#controllers/horizontal-pod-autoscaler/reconcile.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {recordingLog} from '#test/runtime/environment.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';
import {aTemplate, hands} from './workloads.js';

type Spec = NonNullable<Autoscaler['spec']>;

const share = (averageUtilization: number): Spec['metrics'] => [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}}];

/** A deployment whose pods use so much each, out of 100m that each asks for, on simulated nodes. */
const aWorld = async ({replicas = 2, cpu = '100m', args = [] as readonly string[], controllers = ',horizontal-pod-autoscaler-controller'} = {}) => {
  const plane = await aPlane({nodes: 1, controllerManagerArgs: [`--controllers=serviceaccount-controller,deployment-controller,replicaset-controller,node-lifecycle-controller${controllers}`, ...args]});
  const own = hands(plane);
  const {spec, metadata} = aTemplate({app: 'web'});
  const template = {
    metadata: {...metadata, annotations: {'simulation.plat.io/behavior': `{usage: {cpu: ${cpu}}}`}},
    spec: {...spec!, schedulerName: 'default-scheduler', containers: [{name: 'c', image: 'example.com/app:1', resources: {requests: {cpu: '100m'}}}]},
  };
  await own.create(kinds.deployments, {metadata: {name: 'web'}, spec: {replicas, selector: {matchLabels: {app: 'web'}}, template}});
  return {
    ...own,
    plane,
    scale: (spec: Partial<Spec> = {}, name = 'web') =>
      own.create(kinds.horizontalPodAutoscalers, {metadata: {name}, spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'web'}, minReplicas: 1, maxReplicas: 10, metrics: share(50)!, ...spec}}),
    hpa: (name = 'web') => own.get(kinds.horizontalPodAutoscalers, name),
    replicas: async () => (await own.get(kinds.deployments, 'web')).spec?.replicas,
    /** From now on every pod there is uses so much. */
    async uses(amount: string) {
      for (const {metadata: {name} = {}} of await own.list(kinds.pods)) await own.patch(kinds.pods, name!, {metadata: {annotations: {'simulation.plat.io/behavior': `{usage: {cpu: ${amount}}}`}}});
    },
  };
};

const told = ({status}: Autoscaler) => Object.fromEntries((status?.conditions ?? []).map(({type, status: text, reason, message}) => [type, `${text} ${reason}: ${message}`]));

test('a deployment grows when its pods use more than wanted, at most to twice its size at once, and tells so', async t => {
  const world = await aWorld();
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  t.is(await world.replicas(), 2);
  await world.clock.advance(15_000);

  t.is(await world.replicas(), 4);
  const hpa = await world.hpa();
  t.deepEqual(told(hpa), {
    AbleToScale: 'True SucceededRescale: the HPA controller was able to update the target scale to 4',
    ScalingActive: 'True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)',
    ScalingLimited: 'False DesiredWithinRange: the desired count is within the acceptable range',
  });
  t.like(hpa.status, {currentReplicas: 2, desiredReplicas: 4, currentMetrics: [{type: 'Resource', resource: {name: 'cpu', current: {averageUtilization: 100, averageValue: '100m'}}}]});
  t.truthy(hpa.status?.lastScaleTime);
  t.deepEqual(await world.eventsOn('web').then(events => events.filter(text => text.includes('SuccessfulRescale'))), ['Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target']);
});

test('what is used less shrinks the deployment only when the window is over', async t => {
  const world = await aWorld({replicas: 6, cpu: '50m'});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  await world.clock.advance(15_000);
  t.like(told(await world.hpa()), {AbleToScale: 'True ReadyForNewScale: recommended size matches current size'});
  await world.uses('10m');
  await world.clock.advance(285_000);
  t.is(await world.replicas(), 6);
  t.like(told(await world.hpa()), {AbleToScale: 'True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation'});
  await world.clock.advance(45_000);

  t.is(await world.replicas(), 2);
  t.true((await world.eventsOn('web')).includes('Normal SuccessfulRescale New size: 2; reason: All metrics below target'));
});

test('a behaviour takes pods away one by one', async t => {
  const world = await aWorld({replicas: 4, cpu: '1m'});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale({behavior: {scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: 'Pods', value: 1, periodSeconds: 60}]}}});
  const course: (number | undefined)[] = [];
  for (let i = 0; i < 6; i++) {
    await world.clock.advance(30_000);
    course.push(await world.replicas());
  }

  t.deepEqual(course, [3, 3, 2, 2, 1, 1]);
});

const none: NonNullable<Spec['metrics']>[number] = {type: 'External', external: {metric: {name: 'none'}, target: {type: 'Value', value: '1'}}};

test('a deployment beyond its bounds is scaled whatever is measured, one of none is let alone', async t => {
  const world = await aWorld({replicas: 5});
  await using _ = world.plane;
  await world.scale({maxReplicas: 3, metrics: [none]});
  await world.clock.advance(15_000);
  t.is(await world.replicas(), 3);
  t.true((await world.eventsOn('web')).includes('Normal SuccessfulRescale New size: 3; reason: Current number of replicas above Spec.MaxReplicas'));

  await world.patch(kinds.horizontalPodAutoscalers, 'web', {spec: {minReplicas: 4, maxReplicas: 6}});
  await world.clock.advance(15_000);
  t.is(await world.replicas(), 4);
  t.true((await world.eventsOn('web')).includes('Normal SuccessfulRescale New size: 4; reason: Current number of replicas below Spec.MinReplicas'));

  await world.patch(kinds.deployments, 'web', {spec: {replicas: 0}});
  await world.clock.advance(15_000);
  t.is(await world.replicas(), 0);
  t.like(told(await world.hpa()), {ScalingActive: 'False ScalingDisabled: scaling is disabled since the replica count of the target is zero'});
});

const external: NonNullable<Spec['metrics']>[number] = {type: 'External', external: {metric: {name: 'queue'}, target: {type: 'AverageValue', averageValue: '1'}}};

test('a metric that says nothing keeps a deployment from shrinking, not from growing', async t => {
  const world = await aWorld({replicas: 2});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale({metrics: [external, ...share(50)!]});
  await world.clock.advance(15_000);
  t.is(await world.replicas(), 4);
  t.deepEqual((await world.hpa()).status?.currentMetrics?.map(({type}) => type), ['', 'Resource']);

  await world.clock.advance(60_000);
  await world.uses('1m');
  await world.clock.advance(330_000);
  t.is(await world.replicas(), 10);
  t.like(told(await world.hpa()), {
    ScalingActive: 'False FailedGetExternalMetric: the HPA was unable to compute the replica count: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.plat.io)',
  });
  const events = await world.eventsOn('web');
  t.true(events.some(text => text.startsWith('Warning FailedGetExternalMetric unable to get external metric default/queue/nil: ')));
  t.true(events.some(text => text.startsWith('Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 2), first error is: failed to get queue external metric value: failed to get queue external metric: unable to get')));
});

test('a target that is not there is told of, and found once it is', async t => {
  const world = await aWorld();
  await using _ = world.plane;
  await world.scale({scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'other'}}, 'lost');
  await world.scale({scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Nonsense', name: 'other'}}, 'odd');
  await world.clock.advance(15_000);

  t.deepEqual(told(await world.hpa('lost')), {AbleToScale: 'False FailedGetScale: the HPA controller was unable to get the target\'s current scale: deployments.apps "other" not found'});
  t.deepEqual(told(await world.hpa('odd')), {AbleToScale: 'False FailedGetScale: the HPA controller was unable to get the target\'s current scale: no matches for kind "Nonsense" in group "apps"'});
  t.true((await world.eventsOn('lost')).includes('Warning FailedGetScale deployments.apps "other" not found'));
  await world.patch(kinds.horizontalPodAutoscalers, 'lost', {spec: {scaleTargetRef: {name: 'web'}}});
  await world.clock.advance(15_000);
  t.regex(told(await world.hpa('lost'))['AbleToScale'] ?? '', /^True /);
});

/** The controller over a cache that holds one autoscaler of a deployment, with a client whose first writes of scales fail so. */
const alone = async (world: Awaited<ReturnType<typeof aWorld>>, ...failures: (Error | 'conflict')[]) => {
  const {plane, clock, client} = world;
  const meter = new MetricsRegistry();
  const told: string[] = [];
  const tell = (_: unknown, reason: string, message: string) => void told.push(`${reason}: ${message}`);
  const resource = (kind: Kind) => {
    const own = client.resource(kind);
    const update = async (object: KubeObject, how?: {readonly subresource?: string}) => {
      const failure = how?.subresource === 'scale' ? failures.shift() : undefined;
      if (failure === 'conflict') await world.patch(kinds.deployments, 'web', {metadata: {annotations: {left: `${failures.length}`}}});
      else if (failure) throw failure;
      return own.update(object, how);
    };
    return {get: own.get.bind(own), list: own.list.bind(own), update};
  };
  const options = {
    concurrentHorizontalPodAutoscalerSyncs: 1, horizontalPodAutoscalerCpuInitializationPeriod: 300_000, horizontalPodAutoscalerDownscaleStabilization: 300_000,
    horizontalPodAutoscalerInitialReadinessDelay: 30_000, horizontalPodAutoscalerSyncPeriod: 15_000, horizontalPodAutoscalerTolerance: 0.1,
  };
  const context = contextOver(plane, [{...(await world.hpa()), kind: 'HorizontalPodAutoscaler'}, ...(await world.list(kinds.pods)).map(pod => ({...pod, kind: 'Pod'}))], options);
  const reconcile = autoscalerReconciler({...context, clock, meter, events: {normal: tell, warning: tell}, client: {...client, resource: resource as unknown as Client['resource']}});
  const {log, lines} = recordingLog();
  const again = () => reconcile({namespace: 'default', name: 'web'}, {...attempt, log});
  const result = await again();
  return {result, told, again, errors: () => lines.filter(line => line.startsWith('error')).length, figure: (name: string, labels: Record<string, string> = {}) => meter.value(`horizontal_pod_autoscaler_controller_${name}`, labels)};
};

test('what is done is counted, and a scale that cannot be written is told of and tried a period later', async t => {
  const world = await aWorld({controllers: ''});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  const refused = await alone(world, new Error('no'));
  t.deepEqual(refused.result, {kind: 'requeue', afterMs: 15_000});
  t.deepEqual(refused.told, ['FailedRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target; error: no']);
  t.like(told(await world.hpa()), {AbleToScale: 'False FailedUpdateScale: the HPA controller was unable to update the target scale: no'});
  t.is(refused.figure('reconciliations_total', {action: 'none', error: 'internal'}), 1);

  const done = await alone(world);
  t.is(await world.replicas(), 4);
  t.is(done.figure('reconciliations_total', {action: 'scale_up', error: 'none'}), 1);
  t.is(done.figure('metric_computation_total', {action: 'scale_up', error: 'none', metric_type: 'Resource'}), 1);
  t.is(done.figure('desired_replicas', {namespace: 'default', hpa_name: 'web'}), 4);
});

test('a failure is logged as an error when it begins or changes, not once in every period', async t => {
  const world = await aWorld({controllers: ''});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  const {again, errors} = await alone(world, new Error('one'), new Error('one'), new Error('two'));
  t.is(errors(), 1);
  await again();
  t.is(errors(), 1);
  await again();
  t.is(errors(), 2);
});

test('a scale that others change at the same time is written in the same sync, unless they go on', async t => {
  const world = await aWorld({controllers: ''});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  const five = Array<'conflict'>(5).fill('conflict');
  t.regex((await alone(world, ...five)).told.join(), /^FailedRescale: New size: 4; .* the object has been modified/);
  t.is(await world.replicas(), 2);
  const {told: events} = await alone(world, ...five.slice(1));

  t.is(await world.replicas(), 4);
  t.deepEqual(events, ['SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target']);
});

test('pods that two autoscalers select are scaled by neither, until one goes', async t => {
  const world = await aWorld();
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale({}, 'a');
  await world.scale({}, 'b');
  await world.clock.advance(30_000);
  const text = 'pods by selector app=web are controlled by multiple HPAs: [default/a default/b]';

  t.is(told(await world.hpa('b'))['ScalingActive'], `False AmbiguousSelector: ${text}`);
  t.true((await world.eventsOn('b')).includes(`Warning AmbiguousSelector ${text}`));
  await world.remove(kinds.horizontalPodAutoscalers, 'a');
  await world.clock.advance(15_000);
  t.like(told(await world.hpa('b')), {ScalingActive: 'True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)'});
});

test('a tolerance of its own direction holds, and the flags where there is none', async t => {
  const world = await aWorld({cpu: '52m', args: ['--horizontal-pod-autoscaler-tolerance=0.2', '--horizontal-pod-autoscaler-sync-period=5s']});
  await using _ = world.plane;
  await world.clock.advance(60_000);
  await world.scale();
  await world.clock.advance(5_000);
  t.is(await world.replicas(), 2);
  const {resourceVersion} = (await world.hpa()).metadata!;
  await world.clock.advance(30_000);
  t.is((await world.hpa()).metadata?.resourceVersion, resourceVersion, 'a look that finds nothing new writes nothing');
  await world.patch(kinds.horizontalPodAutoscalers, 'web', {spec: {behavior: {scaleUp: {tolerance: '0.01'}}}});
  await world.clock.advance(5_000);
  t.is(await world.replicas(), 3);
});
