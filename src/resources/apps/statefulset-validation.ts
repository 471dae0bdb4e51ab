import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {isWrong} from '#src/api/collect-errors.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {HookContext} from '#src/resources/definition.js';
import {validatePodTemplate} from '#src/resources/core/pod/template.js';
import {validateClaimSpec} from '#src/resources/validation/claim-spec.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {amountOf, notMoreThanWhole, positiveIntOrPercent} from '#src/resources/validation/int-or-percent.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {validateAnnotations, validateLabels} from '#src/resources/validation/object-meta.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {dnsLabel} from '#src/resources/validation/values.js';
import {validateCollisions, validateCounters, validateParts} from '#src/resources/workload/status.js';
import {selectorOrNone, validateSelected, validateWorkloadSelector, type PodTemplate} from '#src/resources/workload/template.js';

type StatefulSet = ObjectOf<typeof kinds.statefulSets>;
type Spec = NonNullable<StatefulSet['spec']>;

function* validatePodManagement(policy: string | undefined): Iterable<FieldError> {
  const path = 'spec.podManagementPolicy';
  if (!policy) yield required(path);
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') yield invalid(path, policy, "must be 'OrderedReady' or 'Parallel'");
}

function* validateStrategy(strategy: Spec['updateStrategy'] = {}): Iterable<FieldError> {
  const path = 'spec.updateStrategy';
  const {type, rollingUpdate} = strategy;
  if (!type) yield required(path);
  else if (type === 'OnDelete') {
    if (rollingUpdate)
      yield invalid(
        `${path}.rollingUpdate`,
        internalForm('RollingUpdateStatefulSet', rollingUpdate),
        "only allowed for updateStrategy 'RollingUpdate'",
      );
  } else if (type !== 'RollingUpdate')
    yield invalid(path, internalForm('StatefulSetUpdateStrategy', strategy), "must be 'RollingUpdate' or 'OnDelete'");
  else if (rollingUpdate) {
    yield* nonNegative(`${path}.rollingUpdate.partition`, rollingUpdate.partition);
    const {maxUnavailable} = rollingUpdate;
    if (maxUnavailable === undefined) return;
    const at = `${path}.rollingUpdate.maxUnavailable`;
    yield* positiveIntOrPercent(at, maxUnavailable);
    if (amountOf(maxUnavailable) === 0) yield invalid(at, maxUnavailable, 'cannot be 0');
    yield* notMoreThanWhole(at, maxUnavailable);
  }
}

function* validateRetention(policy: Spec['persistentVolumeClaimRetentionPolicy']): Iterable<FieldError> {
  for (const when of ['whenDeleted', 'whenScaled'] as const) {
    const value = policy?.[when] ?? '';
    if (policy && value !== 'Retain' && value !== 'Delete')
      yield notSupported(`spec.persistentVolumeClaimRetentionPolicy.${when}`, value, ['Retain', 'Delete']);
  }
}

/** Returns the template as the pods have it: with the volumes of the claims, and without the names they are given. */
const effectiveTemplate = (spec: Partial<Spec>): PodTemplate | undefined => {
  const {template, volumeClaimTemplates = []} = spec;
  if (!template?.spec) return template;
  const {hostname: _hostname, subdomain: _subdomain, ...rest} = template.spec;
  if (volumeClaimTemplates.length === 0) return {...template, spec: rest};
  const names = new Set(volumeClaimTemplates.map(({metadata}) => metadata?.name ?? ''));
  const own = (rest.volumes ?? []).filter(({name}) => !names.has(name));
  const claimed = [...names].map(name => ({name, persistentVolumeClaim: {claimName: name}}));
  return {...template, spec: {...rest, volumes: [...claimed, ...own]}};
};

function* validateTemplate(spec: Partial<Spec>, old: Readonly<StatefulSet> | undefined, context: HookContext): Iterable<FieldError> {
  const path = 'spec.template';
  const selector = selectorOrNone(spec.selector);
  if (!selector) return yield invalid('spec.selector', spec.selector && internalForm('LabelSelector', spec.selector), '');
  yield* validateSelected(selector, spec.template, path);
  if (!spec.template) return;
  // Validated on their own, and again with the rest of the template.
  yield* validateLabels(spec.template.metadata?.labels, `${path}.labels`);
  yield* validateAnnotations(spec.template.metadata?.annotations, `${path}.annotations`);
  const before = old?.spec && effectiveTemplate(old.spec);
  // Sets whose stored template is invalid may be updated.
  if (before && isWrong(validatePodTemplate(before, path, context, before))) return;
  yield* validatePodTemplate(effectiveTemplate(spec) ?? spec.template, path, context, before);
}

function* validateSpec(spec: Partial<Spec>, old: Readonly<StatefulSet> | undefined, context: HookContext): Iterable<FieldError> {
  yield* validatePodManagement(spec.podManagementPolicy);
  yield* validateStrategy(spec.updateStrategy);
  yield* validateRetention(spec.persistentVolumeClaimRetentionPolicy);
  // Claim templates are immutable, so stored ones are not validated again.
  if (!old)
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
      yield* validateClaimSpec(claim.spec ?? {}, `spec.volumeClaimTemplates[${i}].spec`, context.naming);
  yield* nonNegative('spec.replicas', spec.replicas);
  yield* nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  yield* nonNegative('spec.ordinals.start', spec.ordinals?.start);
  if (!old && spec.serviceName) yield* dnsLabel('spec.serviceName', spec.serviceName);
  yield* validateWorkloadSelector(spec.selector, 'spec.selector', 'statefulset');
  yield* validateTemplate(spec, old, context);
  const restartPolicy = spec.template?.spec?.restartPolicy ?? '';
  if (restartPolicy !== 'Always') yield notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']);
  if ((spec.template?.spec?.activeDeadlineSeconds ?? undefined) !== undefined) {
    yield forbiddenField('spec.template.spec.activeDeadlineSeconds', 'activeDeadlineSeconds in StatefulSet is not Supported');
  }
}

/** The mutable fields of the spec. */
const mutable = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
];

const fixedPart = (spec: Partial<Spec> | undefined): object =>
  Object.fromEntries(Object.entries(spec ?? {}).filter(([field]) => !mutable.includes(field)));

/** Validates a StatefulSet, or an update. */
export function* validateStatefulSet(
  set: Readonly<StatefulSet>,
  old: Readonly<StatefulSet> | undefined,
  context: HookContext,
): Iterable<FieldError> {
  yield* validateSpec(set.spec ?? {}, old, context);
  if (old && !semanticallyEqual(fixedPart(set.spec), fixedPart(old.spec))) {
    yield forbiddenField(
      'spec',
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
  }
}

const counters = [
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
  'collisionCount',
];

/** Validates the status of a StatefulSet. */
export function* validateStatefulSetStatus({status}: Readonly<StatefulSet>, old: Readonly<StatefulSet> | undefined): Iterable<FieldError> {
  yield* validateCounters(status, counters);
  yield* validateParts(status, ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'], 'replicas');
  yield* validateParts(status, ['availableReplicas'], 'readyReplicas');
  yield* validateCollisions(status, old?.status);
}
