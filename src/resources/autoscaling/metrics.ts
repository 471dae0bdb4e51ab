import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems, pathSegmentProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {parseQuantity} from '#src/api/quantity.js';
import {containerResourceName} from '#src/resources/validation/resource-lists.js';

// Validation of an autoscaler's metrics and references. Invalid references of the stored autoscaler are accepted.

export type Autoscaler = ObjectOf<typeof kinds.horizontalPodAutoscalers>;
export type AutoscalerSpec = NonNullable<Autoscaler['spec']>;
export type MetricSpec = NonNullable<AutoscalerSpec['metrics']>[number];
type Target = NonNullable<MetricSpec['resource']>['target'];
type Reference = AutoscalerSpec['scaleTargetRef'];

/** The field of each metric type, in the order they are read. */
const sources = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const;
type SourceType = keyof typeof sources;
const sourceTypes = Object.keys(sources).sort();

const isSourceType = (type: string): type is SourceType => Object.hasOwn(sources, type);

/** What the validation of metrics needs besides them. */
interface MetricRules {
  readonly naming: Naming;
  readonly described: VersionRule;
}

const isPositive = (text: string): boolean => {
  try {
    return parseQuantity(String(text)).unscaled > 0n;
  } catch {
    return false;
  }
};

function* validateSegment(path: string, value: string | undefined, missing?: string): Iterable<FieldError> {
  if (!value) return yield required(path, missing);
  for (const problem of pathSegmentProblems(value)) yield invalid(path, value, problem);
}

/** The rule for an apiVersion: unchecked, in the core group, or in a named group. */
export type VersionRule = 'any' | 'groupless' | 'grouped';

const versionProblem = (version: string, rule: VersionRule): string | undefined => {
  if (rule === 'any') return undefined;
  const parts = version === '/' ? [] : version.split('/');
  if (parts.length > 2) return `unexpected GroupVersion string: ${version}`;
  return rule === 'grouped' && (parts.length < 2 || parts[0] === '') ? 'apiVersion must specify API group' : undefined;
};

/** Validates a reference to an object. */
export function* validateReference(reference: Partial<Reference> | undefined, path: string, rule: VersionRule): Iterable<FieldError> {
  yield* validateSegment(`${path}.kind`, reference?.kind);
  yield* validateSegment(`${path}.name`, reference?.name);
  const version = reference?.apiVersion ?? '';
  const problem = versionProblem(version, rule);
  if (problem !== undefined) yield invalid(`${path}.apiVersion`, version, problem);
}

/** Returns the rule for the described object: stored invalid versions are accepted. */
export const describedObjectRule = (old: readonly MetricSpec[] = []): VersionRule =>
  old.some(({type, object}) => type === 'Object' && versionProblem(object?.describedObject.apiVersion ?? '', 'groupless') !== undefined)
    ? 'any'
    : 'groupless';

function* validateTarget(target: Partial<Target> | undefined, path: string): Iterable<FieldError> {
  const {type = '', value, averageValue, averageUtilization} = target ?? {};
  if (!type) yield required(`${path}.type`, 'must specify a metric target type');
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue')
    yield invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue');
  if (value !== undefined && !isPositive(value)) yield invalid(`${path}.value`, value, 'must be positive');
  if (averageValue !== undefined && !isPositive(averageValue)) yield invalid(`${path}.averageValue`, averageValue, 'must be positive');
  if (typeof averageUtilization === 'number' && averageUtilization < 1)
    yield invalid(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0');
}

function* validateMetric(metric: {name?: string} | undefined, path: string): Iterable<FieldError> {
  yield* validateSegment(`${path}.name`, metric?.name, 'must specify a metric name');
}

function* validateObject(source: NonNullable<MetricSpec['object']>, path: string, {described}: MetricRules): Iterable<FieldError> {
  yield* validateReference(source.describedObject, `${path}.describedObject`, described);
  yield* validateMetric(source.metric, `${path}.metric`);
  yield* validateTarget(source.target, `${path}.target`);
  if (source.target?.value === undefined && source.target?.averageValue === undefined) {
    yield required(`${path}.target.averageValue`, 'must set either a target value or averageValue');
  }
}

function* validateExternal(source: NonNullable<MetricSpec['external']>, path: string): Iterable<FieldError> {
  yield* validateMetric(source.metric, `${path}.metric`);
  yield* validateTarget(source.target, `${path}.target`);
  const [value, average] = [source.target?.value, source.target?.averageValue];
  if (value === undefined && average === undefined)
    yield required(`${path}.target.averageValue`, 'must set either a target value for metric or a per-pod target');
  if (value !== undefined && average !== undefined)
    yield forbiddenField(`${path}.target.value`, 'may not set both a target value for metric and a per-pod target');
}

function* validatePods(source: NonNullable<MetricSpec['pods']>, path: string): Iterable<FieldError> {
  yield* validateMetric(source.metric, `${path}.metric`);
  yield* validateTarget(source.target, `${path}.target`);
  if (source.target?.averageValue === undefined)
    yield required(`${path}.target.averageValue`, 'must specify a positive target averageValue');
}

function* validateShare(target: Partial<Target> | undefined, path: string): Iterable<FieldError> {
  yield* validateTarget(target, path);
  const [utilization, value] = [target?.averageUtilization, target?.averageValue];
  if (utilization === undefined && value === undefined)
    yield required(`${path}.averageUtilization`, 'must set either a target raw value or a target utilization');
  if (utilization !== undefined && value !== undefined)
    yield forbiddenField(`${path}.averageValue`, 'may not set both a target raw value and a target utilization');
}

function* validateResource(source: NonNullable<MetricSpec['resource']>, path: string): Iterable<FieldError> {
  if (!source.name) yield required(`${path}.name`, 'must specify a resource name');
  yield* validateShare(source.target, `${path}.target`);
}

function* validateContainerResource(
  source: NonNullable<MetricSpec['containerResource']>,
  path: string,
  {naming}: MetricRules,
): Iterable<FieldError> {
  const {name, container} = source;
  if (!name) yield required(`${path}.name`, 'must specify a resource name');
  else yield* containerResourceName(`${path}.name`, name, naming);
  if (!container) yield required(`${path}.container`, 'must specify a container');
  else for (const problem of dnsLabelProblems(container)) yield invalid(`${path}.container`, container, problem);
  yield* validateShare(source.target, `${path}.target`);
}

const validators: {readonly [Type in SourceType]: (source: never, path: string, rules: MetricRules) => Iterable<FieldError>} = {
  Object: validateObject,
  External: validateExternal,
  Pods: validatePods,
  Resource: validateResource,
  ContainerResource: validateContainerResource,
};

function* validateSpec(spec: MetricSpec, path: string, rules: MetricRules): Iterable<FieldError> {
  const type = spec.type ?? '';
  if (!type) yield required(`${path}.type`, 'must specify a metric source type');
  if (!isSourceType(type)) yield notSupported(`${path}.type`, type, sourceTypes);
  const present = (Object.keys(sources) as SourceType[]).filter(source => spec[sources[source]]);
  if (present[0]) yield* validators[present[0]](spec[sources[present[0]]] as never, `${path}.${sources[present[0]]}`, rules);
  const expected = isSourceType(type) ? sources[type] : undefined;
  if (expected === undefined) yield notSupported(`${path}.type`, type, sourceTypes);
  else if (!spec[expected]) yield required(`${path}.${expected}`, 'must populate information for the given metric source');
  if (present.length === 1) return;
  for (const source of present)
    if (sources[source] !== expected) yield forbiddenField(`${path}.${sources[source]}`, 'must populate the given metric source only');
}

/** Validates metrics and their targets. Scaling to zero requires a metric from outside the pods. */
export function* validateMetrics(
  metrics: readonly MetricSpec[],
  minReplicas: number | undefined,
  path: string,
  rules: MetricRules,
): Iterable<FieldError> {
  for (const [i, spec] of metrics.entries()) yield* validateSpec(spec, `${path}[${i}]`, rules);
  if (minReplicas === 0 && !metrics.some(({type}) => type === 'Object' || type === 'External')) {
    yield forbiddenField(path, 'must specify at least one Object or External metric to support scaling to zero replicas');
  }
}
