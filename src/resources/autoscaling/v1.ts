import {sameJson} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {ServedVersion} from '#src/resources/definition.js';
import type {Behavior} from './behavior.js';
import type {Autoscaler, MetricSpec} from './metrics.js';

type AutoscalerV1 = ObjectOf<typeof kinds.horizontalPodAutoscalersV1>;
type Status = NonNullable<Autoscaler['status']>;
type MetricStatus = NonNullable<Status['currentMetrics']>[number];
type Fields = Record<string, unknown>;

/** The first version knows one metric; it carries everything else as JSON in these annotations, where nothing of it is lost. */
const annotationsOf = (naming: Naming) => ({
  metrics: naming.subKey('autoscaling.alpha', 'metrics'),
  currentMetrics: naming.subKey('autoscaling.alpha', 'current-metrics'),
  conditions: naming.subKey('autoscaling.alpha', 'conditions'),
  behavior: naming.subKey('autoscaling.alpha', 'behavior'),
});

const defined = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What the older form of a metric calls its parts; each pair turns one form into the other. */
interface Source {
  older(spec: Fields, amount: Fields): Fields;
  newer(older: Fields): {readonly spec: Fields; readonly amount: Fields};
}

/** The names of amounts, which differ between what is aimed for and what is. */
interface Words {
  readonly amount: 'target' | 'current';
  readonly value: string;
  readonly averageValue: string;
  readonly averageUtilization: string;
}

const target: Words = {amount: 'target', value: 'targetValue', averageValue: 'targetAverageValue', averageUtilization: 'targetAverageUtilization'};
const current: Words = {amount: 'current', value: 'currentValue', averageValue: 'currentAverageValue', averageUtilization: 'currentAverageUtilization'};

const metricOf = (name: unknown, selector: unknown): Fields => defined({name, selector});

const sourcesIn = (words: Words): Readonly<Record<string, Source>> => {
  const typed = (type: string, amount: Fields): Fields => (words.amount === 'target' ? {type, ...defined(amount)} : defined(amount));
  const share = (older: Fields): Fields =>
    typed(older[words.averageUtilization] === undefined ? 'AverageValue' : 'Utilization', {
      averageUtilization: older[words.averageUtilization],
      averageValue: older[words.averageValue],
    });
  const olderShare = (amount: Fields): Fields => ({[words.averageUtilization]: amount['averageUtilization'], [words.averageValue]: amount['averageValue']});
  return {
    object: {
      older: ({describedObject, metric}, {value, averageValue}) =>
        defined({target: describedObject, metricName: (metric as Fields)['name'], [words.value]: value ?? '0', selector: (metric as Fields)['selector'], averageValue}),
      newer: older => ({
        spec: {describedObject: older['target'], metric: metricOf(older['metricName'], older['selector'])},
        amount: typed(older['averageValue'] === undefined ? 'Value' : 'AverageValue', {
          // Beside an average the older form cannot leave the value out.
          value: older['averageValue'] === undefined ? older[words.value] : undefined,
          averageValue: older['averageValue'],
        }),
      }),
    },
    pods: {
      older: ({metric}, {averageValue}) => defined({metricName: (metric as Fields)['name'], [words.averageValue]: averageValue, selector: (metric as Fields)['selector']}),
      newer: older => ({spec: {metric: metricOf(older['metricName'], older['selector'])}, amount: typed('AverageValue', {averageValue: older[words.averageValue]})}),
    },
    resource: {
      older: ({name}, amount) => defined({name, ...olderShare(amount)}),
      newer: older => ({spec: {name: older['name']}, amount: share(older)}),
    },
    containerResource: {
      older: ({name, container}, amount) => defined({name, ...olderShare(amount), container}),
      newer: older => ({spec: {name: older['name'], container: older['container']}, amount: share(older)}),
    },
    external: {
      older: ({metric}, {value, averageValue}) =>
        defined({metricName: (metric as Fields)['name'], metricSelector: (metric as Fields)['selector'], [words.value]: value, [words.averageValue]: averageValue}),
      newer: older => ({
        spec: {metric: metricOf(older['metricName'], older['metricSelector'])},
        amount: typed(older[words.value] === undefined ? 'AverageValue' : 'Value', {value: older[words.value], averageValue: older[words.averageValue]}),
      }),
    },
  };
};

const ways = {target: sourcesIn(target), current: sourcesIn(current)};

/** A metric that says more than the older form can hold goes along whole, under a name that nobody else reads. */
const whole = 'v2';

const olderMetric = (words: Words, metric: MetricSpec | MetricStatus): Fields => {
  const older = inOlderForm(words, metric);
  return sameJson(newerMetric(words, older), metric) ? older : {...older, [whole]: metric};
};

const inOlderForm = (words: Words, metric: MetricSpec | MetricStatus): Fields => {
  const result: Fields = {type: metric.type};
  for (const [name, {older}] of Object.entries(ways[words.amount])) {
    const source = (metric as unknown as Record<string, Fields | undefined>)[name];
    if (!source) continue;
    const {[words.amount]: amount, ...spec} = source;
    result[name] = older({metric: {}, ...spec}, (amount ?? {}) as Fields);
  }
  return result;
};

const newerMetric = (words: Words, metric: Fields): Fields => {
  if (metric[whole]) return metric[whole] as Fields;
  const result: Fields = {type: metric['type']};
  for (const [name, {newer}] of Object.entries(ways[words.amount])) {
    const source = metric[name] as Fields | undefined;
    if (!source) continue;
    const {spec, amount} = newer(source);
    result[name] = {...spec, [words.amount]: amount};
  }
  return result;
};

const listIn = (text: string | undefined): Fields[] | undefined => {
  if (text === undefined) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((item): item is Fields => typeof item === 'object' && item !== null) : undefined;
  } catch {
    return undefined;
  }
};

const recased = (value: unknown, change: (letter: string) => string): unknown => {
  if (Array.isArray(value)) return value.map(item => recased(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key.charAt(0)) + key.slice(1), recased(item, change)]));
};

/** In the annotation the fields of a behaviour are written large, and none is left out. */
const behaviorText = (behavior: Behavior): string => {
  const rules = (way: Behavior['scaleUp']) =>
    way && {
      StabilizationWindowSeconds: way.stabilizationWindowSeconds ?? null,
      SelectPolicy: way.selectPolicy ?? null,
      Policies: recased(way.policies ?? null, letter => letter.toUpperCase()),
      ...(way.tolerance === undefined ? {Tolerance: null} : {Tolerance: way.tolerance}),
    };
  return JSON.stringify({ScaleUp: rules(behavior.scaleUp) ?? null, ScaleDown: rules(behavior.scaleDown) ?? null});
};

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null).map(([key, item]) => [key, withoutNulls(item)]));
};

const behaviorIn = (text: string | undefined): Behavior | undefined => {
  if (text === undefined) return undefined;
  try {
    const read = withoutNulls(recased(JSON.parse(text), letter => letter.toLowerCase()));
    return typeof read === 'object' && read !== null && !Array.isArray(read) && Object.keys(read).length > 0 ? (read as Behavior) : undefined;
  } catch {
    return undefined;
  }
};

/** Whether a metric is the one that the first version knows. */
const isCpuShare = ({type, resource}: MetricSpec): boolean => type === 'Resource' && resource?.name === 'cpu' && typeof resource.target.averageUtilization === 'number';

const withoutCarriers = (annotations: Readonly<Record<string, string>> | undefined, naming: Naming): Record<string, string> => {
  const carriers = new Set(Object.values(annotationsOf(naming)));
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !carriers.has(key)));
};

const withAnnotations = <T extends KubeObject>(object: T, annotations: Record<string, string>): T => {
  const {annotations: _, ...metadata} = object.metadata ?? {};
  return {...object, metadata: Object.keys(annotations).length > 0 ? {...metadata, annotations} : metadata};
};

const statusFromHub = (hub: Status): NonNullable<AutoscalerV1['status']> => {
  const {conditions: _, currentMetrics, ...status} = hub;
  const share = (currentMetrics ?? []).find(metric => metric.type === 'Resource' && metric.resource?.name === 'cpu')?.resource?.current.averageUtilization;
  return {...status, currentReplicas: status.currentReplicas ?? 0, desiredReplicas: status.desiredReplicas ?? 0, ...(share === undefined ? {} : {currentCPUUtilizationPercentage: share})};
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

const cpuTarget = (averageUtilization: number): MetricSpec => ({type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}});

const metricsOf = (spec: AutoscalerV1['spec'], others: readonly Fields[]): MetricSpec[] => {
  const share = spec?.targetCPUUtilizationPercentage;
  return [...others.map(metric => newerMetric(target, metric) as unknown as MetricSpec), ...(typeof share === 'number' ? [cpuTarget(share)] : [])];
};

const statusToHub = ({currentCPUUtilizationPercentage: share, currentReplicas, ...status}: NonNullable<AutoscalerV1['status']>, carried: Fields[] | undefined, conditions: Fields[] | undefined): Status => {
  const own: Fields[] = typeof share === 'number' ? [{type: 'Resource', resource: {name: 'cpu', current: {averageUtilization: share}}}] : [];
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
  const metrics = metricsOf(older.spec, listIn(annotations[keys.metrics]) ?? []);
  const behavior = behaviorIn(annotations[keys.behavior]);
  return withAnnotations(
    {
      ...older,
      spec: {...spec, ...(metrics.length > 0 ? {metrics} : {}), ...(behavior ? {behavior} : {})},
      ...(older.status ? {status: statusToHub(older.status, listIn(annotations[keys.currentMetrics]), listIn(annotations[keys.conditions]))} : {}),
    } as Autoscaler,
    withoutCarriers(annotations, naming),
  );
};

/** Autoscalers as they were first: one target for the share of CPU, and the rest in annotations. */
export const horizontalPodAutoscalersV1: ServedVersion<Autoscaler> = {
  kind: kinds.horizontalPodAutoscalersV1,
  toHub,
  fromHub,
  default(object) {
    const {spec} = object as AutoscalerV1;
    if (spec) spec.minReplicas ??= 1;
  },
};
