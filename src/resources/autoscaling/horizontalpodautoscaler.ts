import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateCounters} from '#src/resources/workload/status.js';
import {defaultBehavior, dropTolerances, validateBehavior} from './behavior.js';
import {metricsText} from './metrics-text.js';
import {
  describedObjectRule,
  validateMetrics,
  validateReference,
  type Autoscaler,
  type AutoscalerSpec,
  type VersionRule,
} from './metrics.js';
import {horizontalPodAutoscalersV1} from './v1.js';

type Reference = AutoscalerSpec['scaleTargetRef'];

/**
 * Returns the rule for the scale target's apiVersion: the core group only for ReplicationController; stored references
 * may stay.
 */
const targetRule = (reference: Partial<Reference> = {}, old: Reference | undefined): VersionRule => {
  if (old && old.apiVersion === reference.apiVersion && old.kind === reference.kind) return 'any';
  return reference.kind === 'ReplicationController' ? 'groupless' : 'grouped';
};

function* validateSpec(
  spec: Partial<AutoscalerSpec>,
  old: Partial<AutoscalerSpec> | undefined,
  {gate, naming}: HookContext,
): Iterable<FieldError> {
  const {minReplicas: min, maxReplicas: max = 0} = spec;
  const least = gate('HPAScaleToZero') || old?.minReplicas === 0 ? 0 : 1;
  if (typeof min === 'number' && min < least) yield invalid('spec.minReplicas', min, `must be greater than or equal to ${least}`);
  if (max < 1) yield invalid('spec.maxReplicas', max, 'must be greater than 0');
  if (typeof min === 'number' && max < min) yield invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`');
  yield* validateReference(spec.scaleTargetRef, 'spec.scaleTargetRef', targetRule(spec.scaleTargetRef, old?.scaleTargetRef));
  yield* validateMetrics(spec.metrics ?? [], min, 'spec.metrics', {naming, described: describedObjectRule(old?.metrics)});
  yield* validateBehavior(spec.behavior, 'spec.behavior');
}

const columns: readonly Column<Autoscaler>[] = [
  nameColumn,
  {
    name: 'Reference',
    description: 'What is scaled.',
    of: ({spec}) => `${spec?.scaleTargetRef?.kind ?? ''}/${spec?.scaleTargetRef?.name ?? ''}`,
  },
  {
    name: 'Targets',
    description: 'What is measured, and what is aimed for.',
    of: ({spec, status}) => metricsText(spec?.metrics ?? [], status?.currentMetrics ?? []),
  },
  {
    name: 'MinPods',
    description: 'The fewest instances there may be.',
    of: ({spec}) => (typeof spec?.minReplicas === 'number' ? String(spec.minReplicas) : '<unset>'),
  },
  {name: 'MaxPods', description: 'The most instances there may be.', of: ({spec}) => spec?.maxReplicas ?? 0},
  {name: 'Replicas', description: 'How many instances there were when it last looked.', of: ({status}) => status?.currentReplicas ?? 0},
  ageColumn,
];

/** HorizontalPodAutoscaler: sets the replicas of a workload from metrics. */
export const horizontalPodAutoscalers = defineResource<Autoscaler>({
  kind: kinds.horizontalPodAutoscalers,
  discovery: {shortNames: ['hpa'], categories: ['all']},
  served: {otherVersions: [horizontalPodAutoscalersV1]},
  storage: {alwaysPresent: {status: {currentMetrics: null, desiredReplicas: 0}}},
  metadata: {nameProblems: subdomainName},
  default(autoscaler) {
    const spec = (autoscaler.spec ??= {} as AutoscalerSpec);
    spec.minReplicas ??= 1;
    if (!spec.metrics?.length)
      spec.metrics = [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 80}}}];
    if (spec.behavior) defaultBehavior(spec.behavior);
    // Current metrics are shown even if there are none.
    const {status} = autoscaler;
    if (status) Object.assign(status, {currentMetrics: status.currentMetrics ?? null, desiredReplicas: status.desiredReplicas ?? 0});
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare: ({spec}, old, {gate}) => dropTolerances(spec?.behavior, old?.spec?.behavior, gate),
    validate: ({spec}, old, context) => validateSpec(spec ?? {}, old?.spec, context),
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      validate: ({status}) => validateCounters(status, ['currentReplicas', 'desiredReplicas']),
    },
  },
  presentation: {columns},
});
