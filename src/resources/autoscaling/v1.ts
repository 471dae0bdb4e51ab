import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {ServedVersion} from '#src/resources/definition.js';
import type {Autoscaler, MetricSpec} from './metrics.js';
import {behaviorIn, behaviorText} from './v1-behavior.js';
import {current, metricsIn, newerMetric, olderMetric, target, type MetricStatus} from './v1-metrics.js';
import {fields, listOf, parseGuarded, string, type Fields} from './v1-guards.js';

type AutoscalerV1 = ObjectOf<typeof kinds.horizontalPodAutoscalersV1>;
type Status = NonNullable<Autoscaler['status']>;

/** v1 has one metric; everything else is stored as JSON in these annotations, without loss. */
const annotationsOf = (naming: Naming) => ({
  metrics: naming.subKey('autoscaling.alpha', 'metrics'),
  currentMetrics: naming.subKey('autoscaling.alpha', 'current-metrics'),
  conditions: naming.subKey('autoscaling.alpha', 'conditions'),
  behavior: naming.subKey('autoscaling.alpha', 'behavior'),
  scaleUpTolerance: naming.subKey('autoscaling.alpha', 'scale-up-tolerance'),
  scaleDownTolerance: naming.subKey('autoscaling.alpha', 'scale-down-tolerance'),
});

/** Reports whether a metric is the one that v1 has. */
const isCpuShare = ({type, resource}: MetricSpec): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && typeof resource.target.averageUtilization === 'number';

const withoutCarriers = (annotations: Readonly<Record<string, string>> | undefined, naming: Naming): Record<string, string> => {
  const carriers = new Set(Object.values(annotationsOf(naming)));
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !carriers.has(key)));
};

const withAnnotations = <T extends KubeObject>(object: T, annotations: Record<string, string>): T => {
  const {annotations: _, ...metadata} = object.metadata ?? {};
  return {...object, metadata: Object.keys(annotations).length > 0 ? {...metadata, annotations} : metadata};
};

const conditions = listOf(fields({type: string, status: string, lastTransitionTime: string, reason: string, message: string}));

const statusFromHub = (hub: Status): NonNullable<AutoscalerV1['status']> => {
  const {conditions: _, currentMetrics, ...status} = hub;
  const share = (currentMetrics ?? []).find(metric => metric.type === 'Resource' && metric.resource?.name === 'cpu')?.resource?.current
    .averageUtilization;
  return {
    ...status,
    currentReplicas: status.currentReplicas ?? 0,
    desiredReplicas: status.desiredReplicas ?? 0,
    ...(share === undefined ? {} : {currentCPUUtilizationPercentage: share}),
  };
};

const fromHub = (hub: Readonly<Autoscaler>, naming: Naming): AutoscalerV1 => {
  const keys = annotationsOf(naming);
  const {metrics = [], behavior, ...spec} = hub.spec ?? ({} as NonNullable<Autoscaler['spec']>);
  const others = metrics.filter(metric => !isCpuShare(metric)).map(metric => olderMetric(target, metric));
  const currents = (hub.status?.currentMetrics ?? []).map(metric => olderMetric(current, metric));
  const conditions = hub.status?.conditions ?? [];
  const share = metrics.find(isCpuShare)?.resource?.target.averageUtilization;
  return withAnnotations(
    {
      ...hub,
      spec: {...spec, ...(share === undefined ? {} : {targetCPUUtilizationPercentage: share})},
      ...(hub.status ? {status: statusFromHub(hub.status)} : {}),
    } as AutoscalerV1,
    {
      ...withoutCarriers(hub.metadata?.annotations, naming),
      ...(others.length > 0 ? {[keys.metrics]: JSON.stringify(others)} : {}),
      ...(currents.length > 0 ? {[keys.currentMetrics]: JSON.stringify(currents)} : {}),
      ...(behavior ? {[keys.behavior]: behaviorText(behavior)} : {}),
      ...(conditions.length > 0 ? {[keys.conditions]: JSON.stringify(conditions)} : {}),
    },
  );
};

const cpuTarget = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}},
});

const metricsOf = (spec: AutoscalerV1['spec'], others: readonly Fields[]): MetricSpec[] => {
  const share = spec?.targetCPUUtilizationPercentage;
  return [
    ...others.map(metric => newerMetric(target, metric) as unknown as MetricSpec),
    ...(typeof share === 'number' ? [cpuTarget(share)] : []),
  ];
};

const statusToHub = (
  {currentCPUUtilizationPercentage: share, currentReplicas, ...status}: NonNullable<AutoscalerV1['status']>,
  carried: Fields[] | undefined,
  conditions: Fields[] | undefined,
): Status => {
  const own: Fields[] =
    typeof share === 'number' ? [{type: 'Resource', resource: {name: 'cpu', current: {averageUtilization: share}}}] : [];
  const currentMetrics = (carried?.map(metric => newerMetric(current, metric)) ?? own) as unknown as MetricStatus[];
  return {
    ...status,
    ...(currentReplicas ? {currentReplicas} : {}),
    currentMetrics: currentMetrics.length > 0 ? currentMetrics : (null as unknown as MetricStatus[]),
    ...(conditions ? {conditions: conditions as unknown as NonNullable<Status['conditions']>} : {}),
  } as Status;
};

const toHub = (object: KubeObject, naming: Naming): Autoscaler => {
  const older = object as AutoscalerV1;
  const keys = annotationsOf(naming);
  const annotations = older.metadata?.annotations ?? {};
  const {targetCPUUtilizationPercentage: _, ...spec} = older.spec ?? ({} as NonNullable<AutoscalerV1['spec']>);
  const metrics = metricsOf(older.spec, metricsIn(target, annotations[keys.metrics]) ?? []);
  const behavior = behaviorIn(annotations[keys.behavior]);
  return withAnnotations(
    {
      ...older,
      spec: {...spec, ...(metrics.length > 0 ? {metrics} : {}), ...(behavior ? {behavior} : {})},
      ...(older.status
        ? {
            status: statusToHub(
              older.status,
              metricsIn(current, annotations[keys.currentMetrics]),
              parseGuarded(annotations[keys.conditions], conditions),
            ),
          }
        : {}),
    } as Autoscaler,
    withoutCarriers(annotations, naming),
  );
};

/** autoscaling/v1: one CPU utilization target, and the rest in annotations. */
export const horizontalPodAutoscalersV1: ServedVersion<Autoscaler> = {
  kind: kinds.horizontalPodAutoscalersV1,
  toHub,
  fromHub,
  default(object) {
    const {spec} = object as AutoscalerV1;
    if (spec) spec.minReplicas ??= 1;
  },
};
