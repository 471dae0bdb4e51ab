import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import type {Autoscaler} from '#controllers/horizontal-pod-autoscaler/limits.js';
import {aPlane} from './plane.js';
import {aTemplate, hands} from './workloads.js';

type Spec = NonNullable<Autoscaler['spec']>;

const share = (averageUtilization: number): Spec['metrics'] => [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}}];

/** A deployment whose pods use so much each, out of 100m that each asks for, on simulated nodes. */
const aWorld = async ({replicas = 2, cpu = '100m', args = [] as readonly string[]} = {}) => {
  const plane = await aPlane({nodes: 2, controllerManagerArgs: ['--controllers=serviceaccount-controller,deployment-controller,replicaset-controller,horizontal-pod-autoscaler-controller,node-lifecycle-controller', ...args]});
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
