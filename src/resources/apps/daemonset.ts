import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {
  dropDisabledTemplateFields,
  hasInvalidTermValues,
  podTemplateWarnings,
  validatePodTemplate,
} from '#src/resources/core/pod/template.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {amountOf, notMoreThanWhole, positiveIntOrPercent} from '#src/resources/validation/int-or-percent.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {containerColumns, labelsCell, selectorCell} from '#src/resources/workload/columns.js';
import {validateCollisions, validateCounters} from '#src/resources/workload/status.js';
import {defaultTemplate, selectorOrNone, validateRunsForever, validateSelected} from '#src/resources/workload/template.js';

type DaemonSet = ObjectOf<typeof kinds.daemonSets>;
type Spec = NonNullable<DaemonSet['spec']>;

/**
 * Counts the changes of the template. extensions/v1beta1 had a field for it; readers of the annotation still expect it.
 */
const templateGeneration = 'deprecated.daemonset.template.generation';

const generationOf = ({metadata}: Readonly<DaemonSet>): number => {
  const value = Number(metadata?.annotations?.[templateGeneration] ?? 0);
  return Number.isSafeInteger(value) ? value : 0;
};

const countTemplates = (set: DaemonSet, old: Readonly<DaemonSet> | undefined): void => {
  const count = !old
    ? Math.max(generationOf(set), 1)
    : generationOf(old) + (semanticallyEqual(set.spec?.template, old.spec?.template) ? 0 : 1);
  annotate(set, count);
};

const annotate = (set: DaemonSet, count: number): void => {
  set.metadata!.annotations = {...set.metadata!.annotations, [templateGeneration]: String(count)};
};

function* validateRollingUpdate(
  {maxUnavailable, maxSurge}: NonNullable<NonNullable<Spec['updateStrategy']>['rollingUpdate']>,
  path: string,
): Iterable<FieldError> {
  yield* positiveIntOrPercent(`${path}.maxUnavailable`, maxUnavailable);
  yield* positiveIntOrPercent(`${path}.maxSurge`, maxSurge);
  yield* notMoreThanWhole(`${path}.maxUnavailable`, maxUnavailable);
  yield* notMoreThanWhole(`${path}.maxSurge`, maxSurge);
  const [unavailable, surge] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0];
  if (unavailable && surge) yield invalid(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  else if (!unavailable && !surge) yield required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
}

function* validateStrategy(strategy: Spec['updateStrategy'] = {}): Iterable<FieldError> {
  const path = 'spec.updateStrategy';
  if (strategy.type === 'OnDelete') return;
  if (strategy.type !== 'RollingUpdate')
    yield notSupported(path, internalForm('DeploymentStrategy', strategy), ['RollingUpdate', 'OnDelete']);
  else if (!strategy.rollingUpdate) yield required(`${path}.rollingUpdate`);
  else yield* validateRollingUpdate(strategy.rollingUpdate, `${path}.rollingUpdate`);
}

function* validateSpec(set: Readonly<DaemonSet>, old: Readonly<DaemonSet> | undefined, context: HookContext): Iterable<FieldError> {
  const spec: Partial<Spec> = set.spec ?? {};
  const {selector, template} = spec;
  if (selector)
    yield* validateLabelSelector(
      selector,
      'spec.selector',
      hasInvalidValues(old?.spec?.selector) || hasInvalidTermValues(old?.spec?.template?.spec),
    );
  const read = selectorOrNone(selector);
  if (read) yield* validateSelected(read, template, 'spec.template');
  if (selector && Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0) {
    yield invalid('spec.selector', selector, 'empty selector is invalid for daemonset');
  }
  if (template) yield* validatePodTemplate(template, 'spec.template', context, old?.spec?.template);
  yield* validateRunsForever(template, 'spec.template', 'DaemonSet');
  yield* nonNegative('spec.minReadySeconds', spec.minReadySeconds);
  yield* nonNegative('spec.templateGeneration', generationOf(set));
  yield* validateStrategy(spec.updateStrategy);
  yield* nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

function* validate(set: Readonly<DaemonSet>, old: Readonly<DaemonSet> | undefined, context: HookContext): Iterable<FieldError> {
  if (old) yield* immutable('spec.selector', set.spec?.selector, old.spec?.selector);
  yield* validateSpec(set, old, context);
}

const counters = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
];

const columns: readonly Column<DaemonSet>[] = [
  nameColumn,
  {
    name: 'Desired',
    type: 'integer',
    description: 'How many nodes are to run one of its pods.',
    of: ({status}) => status?.desiredNumberScheduled ?? 0,
  },
  {
    name: 'Current',
    type: 'integer',
    description: 'How many nodes run one of its pods and are to.',
    of: ({status}) => status?.currentNumberScheduled ?? 0,
  },
  {
    name: 'Ready',
    type: 'integer',
    description: 'How many nodes run a pod of it that is ready.',
    of: ({status}) => status?.numberReady ?? 0,
  },
  {
    name: 'Up-to-date',
    type: 'integer',
    description: 'How many nodes run a pod made from the template as it is now.',
    of: ({status}) => status?.updatedNumberScheduled ?? 0,
  },
  {
    name: 'Available',
    type: 'integer',
    description: 'How many nodes run a pod that has been ready for long enough.',
    of: ({status}) => status?.numberAvailable ?? 0,
  },
  {
    name: 'Node Selector',
    description: 'Labels of the nodes that are to run it.',
    of: ({spec}) => labelsCell(spec?.template?.spec?.nodeSelector),
  },
  ageColumn,
  ...containerColumns<DaemonSet>(({spec}) => spec?.template),
  {name: 'Selector', description: 'Which pods belong to it.', priority: 1, of: ({spec}) => selectorCell(spec?.selector)},
];

const noneScheduled = {currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0};

/** DaemonSet: runs one pod on every matching node. */
export const daemonSets = defineResource<DaemonSet>({
  kind: kinds.daemonSets,
  discovery: {shortNames: ['ds'], categories: ['all']},
  storage: {alwaysPresent: {status: noneScheduled}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(set) {
    const spec = (set.spec ??= {} as Spec);
    const strategy = (spec.updateStrategy ??= {});
    strategy.type ||= 'RollingUpdate';
    if (strategy.type === 'RollingUpdate') {
      const rolling = (strategy.rollingUpdate ??= {});
      rolling.maxUnavailable ??= 1;
      rolling.maxSurge ??= 0;
    }
    spec.revisionHistoryLimit ??= 10;
    defaultTemplate(spec);
    // A writer that omits the annotation becomes its owner.
    if (set.metadata && set.metadata.annotations?.[templateGeneration] === undefined) annotate(set, 0);
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(set, old, {gate}) {
      dropDisabledTemplateFields(set.spec?.template, old?.spec?.template, gate);
      if (!old) set.status = {...noneScheduled};
      countTemplates(set, old);
    },
    validate,
    *warn(set, old, context) {
      if (!old || generationOf(set) !== generationOf(old)) yield* podTemplateWarnings(set.spec?.template, 'spec.template', context.naming);
    },
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      prepare: countTemplates,
      *validate({status}, old) {
        yield* validateCounters(status, counters);
        yield* validateCollisions(status, old?.status);
      },
    },
  },
  presentation: {columns, derivedAnnotations: [templateGeneration]},
});
