import {required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ReplicationController} from '#src/api/pod.js';
import {selectorForLabels} from '#src/api/selectors/label-selector.js';
import {scaleEndpoint} from '#src/resources/autoscaling/scale.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {
  defaultPodTemplate,
  dropDisabledTemplateFields,
  podTemplateWarnings,
  validatePodTemplate,
} from '#src/resources/core/pod/template.js';
import {defineResource, type Endpoint, type HookContext} from '#src/resources/definition.js';
import {nameOnly} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {containerColumns, labelsCell} from '#src/resources/workload/columns.js';
import {validateCounters, validateParts} from '#src/resources/workload/status.js';
import {nameWarnings, validateRunsForever, validateSelected} from '#src/resources/workload/template.js';

function* validateSpec(
  {spec}: Readonly<ReplicationController>,
  old: Readonly<ReplicationController> | undefined,
  context: HookContext,
): Iterable<FieldError> {
  yield* nonNegative('spec.minReadySeconds', spec?.minReadySeconds);
  const selector = selectorForLabels(spec?.selector ?? {});
  if (selector.empty) yield required('spec.selector');
  yield* nonNegative('spec.replicas', spec?.replicas);
  const template = spec?.template;
  if (!template) return yield required('spec.template');
  yield* validateSelected(selector, template, 'spec.template');
  yield* validatePodTemplate(template, 'spec.template', context, old?.spec?.template);
  yield* validateRunsForever(template, 'spec.template', 'ReplicationController');
}

const counters = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'];

function* validateStatus({status}: Readonly<ReplicationController>): Iterable<FieldError> {
  yield* validateCounters(status, counters);
  yield* validateParts(status, ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'], 'replicas');
  yield* validateParts(status, ['availableReplicas'], 'readyReplicas', 'readyReplicas');
}

const isEmpty = (labels: object | undefined): boolean => !labels || Object.keys(labels).length === 0;

const main: Endpoint<ReplicationController> = {
  writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
  prepare(controller, old, {gate}) {
    dropDisabledTemplateFields(controller.spec?.template, old?.spec?.template, gate);
    if (!old) controller.status = {replicas: 0};
  },
  validate: validateSpec,
  *warn(controller, old, {naming}) {
    if (!old) yield* nameWarnings(controller);
    if (controller.metadata?.generation !== old?.metadata?.generation)
      yield* podTemplateWarnings(controller.spec?.template, 'spec.template', naming);
  },
};

/** ReplicationController: keeps a number of pods of one template running; the predecessor of ReplicaSet. */
export const replicationControllers = defineResource<ReplicationController>({
  kind: kinds.replicationControllers,
  discovery: {shortNames: ['rc'], categories: ['all']},
  storage: {path: 'controllers', alwaysPresent: {spec: {}, status: {replicas: 0}}},
  metadata: {nameProblems: nameOnly, generation: true},
  /** The selector and labels default to the labels of the pod template. */
  default(controller) {
    const spec = (controller.spec ??= {});
    spec.replicas ??= 1;
    defaultPodTemplate(spec.template);
    const labels = spec.template?.metadata?.labels;
    if (!labels) return;
    if (isEmpty(spec.selector)) spec.selector = {...labels};
    const meta = (controller.metadata ??= {});
    if (isEmpty(meta.labels)) meta.labels = {...labels};
  },
  main,
  subresources: {
    scale: scaleEndpoint(main, ({spec}) => selectorForLabels(spec?.selector ?? {}).toString()),
    status: {writes: {update: ['metadata', 'status']}, validate: validateStatus},
  },
  deletion: {defaultPropagation: 'orphan'},
  selection: {fields: {'status.replicas': ({status}) => String(status?.replicas ?? 0)}},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Desired', type: 'integer', description: 'How many pods are wanted.', of: ({spec}) => spec?.replicas ?? 0},
      {name: 'Current', type: 'integer', description: 'How many pods there are.', of: ({status}) => status?.replicas ?? 0},
      {name: 'Ready', type: 'integer', description: 'How many pods are ready.', of: ({status}) => status?.readyReplicas ?? 0},
      ageColumn,
      ...containerColumns<ReplicationController>(({spec}) => spec?.template),
      {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => labelsCell(spec?.selector)},
    ],
  },
});
