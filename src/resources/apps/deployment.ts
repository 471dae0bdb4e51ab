import {sameContent} from '#src/api/equal.js';
import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {scaleEndpoint} from '#src/resources/autoscaling/scale.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type Endpoint, type HookContext} from '#src/resources/definition.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {amountOf, notMoreThanWhole, positiveIntOrPercent} from '#src/resources/validation/int-or-percent.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {containerColumns, selectorCell} from '#src/resources/workload/columns.js';
import {dropUnservedReplicaCount, validateReplicaTemplate} from '#src/resources/workload/replicas.js';
import {validateCollisions, validateCounters, validateParts} from '#src/resources/workload/status.js';
import {defaultTemplate, nameWarnings, selectorOrNone, validateWorkloadSelector} from '#src/resources/workload/template.js';
import {dropDisabledTemplateFields, podTemplateWarnings} from '#src/resources/core/pod/template.js';

type Deployment = ObjectOf<typeof kinds.deployments>;
type Spec = NonNullable<Deployment['spec']>;
type Strategy = NonNullable<Spec['strategy']>;

const strategies = ['Recreate', 'RollingUpdate'];

const defaultStrategy = (spec: Spec): void => {
  const strategy = (spec.strategy ??= {});
  strategy.type ||= 'RollingUpdate';
  if (strategy.type !== 'RollingUpdate') return;
  const rolling = (strategy.rollingUpdate ??= {});
  rolling.maxUnavailable ??= '25%';
  rolling.maxSurge ??= '25%';
};

function* validateRollingUpdate({maxUnavailable, maxSurge}: NonNullable<Strategy['rollingUpdate']>, path: string): Iterable<FieldError> {
  yield* positiveIntOrPercent(`${path}.maxUnavailable`, maxUnavailable);
  yield* positiveIntOrPercent(`${path}.maxSurge`, maxSurge);
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0)
    yield invalid(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0');
  yield* notMoreThanWhole(`${path}.maxUnavailable`, maxUnavailable);
}

function* validateStrategy(strategy: Strategy = {}): Iterable<FieldError> {
  const path = 'spec.strategy';
  if (strategy.type === 'Recreate') {
    if (strategy.rollingUpdate) yield forbiddenField(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'");
  } else if (strategy.type === 'RollingUpdate') {
    if (!strategy.rollingUpdate) yield required(`${path}.rollingUpdate`, 'this should be defaulted and never be nil');
    else yield* validateRollingUpdate(strategy.rollingUpdate, `${path}.rollingUpdate`);
  } else yield notSupported(path, internalForm('DeploymentStrategy', strategy), strategies);
}

function* validateSpec(
  deployment: Readonly<Deployment>,
  old: Readonly<Deployment> | undefined,
  context: HookContext,
): Iterable<FieldError> {
  const spec: Partial<Spec> = deployment.spec ?? {};
  yield* nonNegative('spec.replicas', spec.replicas);
  yield* validateWorkloadSelector(spec.selector, 'spec.selector', 'deployment');
  const selector = selectorOrNone(spec.selector);
  if (!selector) yield invalid('spec.selector', spec.selector && internalForm('LabelSelector', spec.selector), 'invalid label selector');
  else yield* validateReplicaTemplate(spec.template, old?.spec?.template, selector, context);
  yield* validateStrategy(spec.strategy);
  yield* nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  yield* nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  const {progressDeadlineSeconds: deadline, minReadySeconds = 0} = spec;
  yield* nonNegative('spec.progressDeadlineSeconds', deadline);
  if (typeof deadline === 'number' && deadline <= minReadySeconds)
    yield invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
  if (old) yield* immutable('spec.selector', spec.selector, old.spec?.selector);
}

const counters = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
];

function* validateStatus({status}: Readonly<Deployment>, old: Readonly<Deployment> | undefined): Iterable<FieldError> {
  yield* validateCounters(status, counters);
  yield* validateParts(status, ['updatedReplicas', 'readyReplicas', 'availableReplicas'], 'replicas');
  yield* validateParts(status, ['availableReplicas'], 'readyReplicas', 'readyReplicas');
  yield* validateCollisions(status, old?.status);
}

const columns: readonly Column<Deployment>[] = [
  nameColumn,
  {
    name: 'Ready',
    description: 'Number of the pod with ready state',
    of: ({spec, status}) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
  },
  {
    name: 'Up-to-date',
    description: 'How many pods are made from the template as it is now.',
    of: ({status}) => status?.updatedReplicas ?? 0,
  },
  {name: 'Available', description: 'How many pods have been ready for long enough.', of: ({status}) => status?.availableReplicas ?? 0},
  ageColumn,
  ...containerColumns<Deployment>(({spec}) => spec?.template),
  {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => selectorCell(spec?.selector, '<invalid>', '')},
];

const main: Endpoint<Deployment> = {
  writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
  prepare(deployment, old, {gate}) {
    dropDisabledTemplateFields(deployment.spec?.template, old?.spec?.template, gate);
    if (!old) deployment.status = {};
  },
  validate: validateSpec,
  *warn(deployment, old, context) {
    if (!old) yield* nameWarnings(deployment);
    if (deployment.metadata?.generation !== old?.metadata?.generation)
      yield* podTemplateWarnings(deployment.spec?.template, 'spec.template', context.naming);
  },
};

/**
 * Deployment: keeps a number of pods of one template running, and replaces them step by step when the template changes.
 */
export const deployments = defineResource<Deployment>({
  kind: kinds.deployments,
  discovery: {shortNames: ['deploy'], categories: ['all']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {
    nameProblems: subdomainName,
    // A change of annotations counts as well: they are copied to the replica sets.
    generation: (now, old) => !semanticallyEqual(now.spec, old.spec) || !sameContent(now.metadata?.annotations, old.metadata?.annotations),
  },
  default(deployment) {
    const spec = (deployment.spec ??= {} as Spec);
    spec.replicas ??= 1;
    defaultStrategy(spec);
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
    defaultTemplate(spec);
  },
  main,
  subresources: {
    scale: scaleEndpoint(main),
    status: {
      writes: {update: ['metadata', 'status']},
      prepare(deployment, old, {gate}) {
        dropUnservedReplicaCount(deployment.status, old?.status, gate);
        // A status update keeps the stored labels.
        if (old?.metadata?.labels) deployment.metadata!.labels = {...old.metadata.labels};
        else delete deployment.metadata!.labels;
      },
      validate: validateStatus,
    },
  },
  presentation: {columns},
});
