import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {scaleEndpoint} from '#src/resources/autoscaling/scale.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type Endpoint, type HookContext} from '#src/resources/definition.js';
import {dropDisabledTemplateFields, podTemplateWarnings} from '#src/resources/core/pod/template.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {containerColumns, selectorCell} from '#src/resources/workload/columns.js';
import {dropUnservedReplicaCount, validateReplicaTemplate} from '#src/resources/workload/replicas.js';
import {validateCounters, validateParts} from '#src/resources/workload/status.js';
import {defaultTemplate, nameWarnings, selectorOrNone, validateWorkloadSelector} from '#src/resources/workload/template.js';

type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;

function* validateSpec({spec}: Readonly<ReplicaSet>, old: Readonly<ReplicaSet> | undefined, context: HookContext): Iterable<FieldError> {
  yield* nonNegative('spec.replicas', spec?.replicas);
  yield* nonNegative('spec.minReadySeconds', spec?.minReadySeconds);
  // The original's message names the other kind.
  yield* validateWorkloadSelector(spec?.selector, 'spec.selector', 'deployment');
  const selector = selectorOrNone(spec?.selector);
  if (!selector) yield invalid('spec.selector', spec?.selector && internalForm('LabelSelector', spec.selector), 'invalid label selector');
  else yield* validateReplicaTemplate(spec?.template, old?.spec?.template, selector, context);
  if (old) yield* immutable('spec.selector', spec?.selector, old.spec?.selector);
}

const counters = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'terminatingReplicas', 'observedGeneration'];

function* validateStatus({status}: Readonly<ReplicaSet>): Iterable<FieldError> {
  yield* validateCounters(status, counters);
  yield* validateParts(status, ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'], 'replicas');
  yield* validateParts(status, ['availableReplicas'], 'readyReplicas', 'readyReplicas');
}

const columns: readonly Column<ReplicaSet>[] = [
  nameColumn,
  {name: 'Desired', type: 'integer', description: 'How many pods are wanted.', of: ({spec}) => spec?.replicas ?? 0},
  {name: 'Current', type: 'integer', description: 'How many pods there are.', of: ({status}) => status?.replicas ?? 0},
  {name: 'Ready', type: 'integer', description: 'How many pods are ready.', of: ({status}) => status?.readyReplicas ?? 0},
  ageColumn,
  ...containerColumns<ReplicaSet>(({spec}) => spec?.template),
  {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => selectorCell(spec?.selector)},
];

const main: Endpoint<ReplicaSet> = {
  writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
  prepare(set, old, {gate}) {
    dropDisabledTemplateFields(set.spec?.template, old?.spec?.template, gate);
    if (!old) set.status = {replicas: 0};
  },
  validate: validateSpec,
  *warn(set, old, context) {
    if (!old) yield* nameWarnings(set);
    if (set.metadata?.generation !== old?.metadata?.generation)
      yield* podTemplateWarnings(set.spec?.template, 'spec.template', context.naming);
  },
};

/** ReplicaSet: keeps a number of pods of one template running. */
export const replicaSets = defineResource<ReplicaSet>({
  kind: kinds.replicaSets,
  discovery: {shortNames: ['rs'], categories: ['all']},
  storage: {alwaysPresent: {status: {replicas: 0}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(set) {
    const spec = (set.spec ??= {} as NonNullable<ReplicaSet['spec']>);
    spec.replicas ??= 1;
    defaultTemplate(spec);
  },
  main,
  subresources: {
    scale: scaleEndpoint(main),
    status: {
      writes: {update: ['metadata', 'status']},
      prepare: (set, old, {gate}) => dropUnservedReplicaCount(set.status, old?.status, gate),
      validate: validateStatus,
    },
  },
  selection: {fields: {'status.replicas': ({status}) => String(status?.replicas ?? 0)}, unknownFieldMessage: 'metadata'},
  presentation: {columns},
});
