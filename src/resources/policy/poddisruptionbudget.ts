import {invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {validateConditions} from '#src/resources/validation/conditions.js';
import {notMoreThanWhole, positiveIntOrPercent} from '#src/resources/validation/int-or-percent.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {validateCounters} from '#src/resources/workload/status.js';

type Budget = ObjectOf<typeof kinds.podDisruptionBudgets>;

const policies = ['AlwaysAllow', 'IfHealthyBudget'];

function* validate({spec}: Readonly<Budget>, old: Readonly<Budget> | undefined): Iterable<FieldError> {
  const {minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy} = spec ?? {};
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    yield invalid('spec', internalForm('PodDisruptionBudgetSpec', {...spec}), 'minAvailable and maxUnavailable cannot be both set');
  for (const [field, value] of [
    ['minAvailable', minAvailable],
    ['maxUnavailable', maxUnavailable],
  ] as const) {
    if (value === undefined) continue;
    yield* positiveIntOrPercent(`spec.${field}`, value);
    yield* notMoreThanWhole(`spec.${field}`, value);
  }
  if (selector) yield* validateLabelSelector(selector, 'spec.selector', hasInvalidValues(old?.spec?.selector));
  if (policy !== undefined && !policies.includes(policy)) yield notSupported('spec.unhealthyPodEvictionPolicy', policy, policies);
}

const counters = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'];
const nothingSeen = {currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0};

const columns: readonly Column<Budget>[] = [
  nameColumn,
  {
    name: 'Min Available',
    description: 'The minimum number of pods that must be available.',
    of: ({spec}) => String(spec?.minAvailable ?? 'N/A'),
  },
  {
    name: 'Max Unavailable',
    description: 'The maximum number of pods that may be unavailable.',
    of: ({spec}) => String(spec?.maxUnavailable ?? 'N/A'),
  },
  {
    name: 'Allowed Disruptions',
    type: 'integer',
    description: 'Calculated number of pods that may be disrupted at this time.',
    of: ({status}) => status?.disruptionsAllowed ?? 0,
  },
  ageColumn,
];

/** PodDisruptionBudget: how many pods may be voluntarily disrupted at once. */
export const podDisruptionBudgets = defineResource<Budget>({
  kind: kinds.podDisruptionBudgets,
  discovery: {shortNames: ['pdb']},
  storage: {alwaysPresent: {spec: {}, status: nothingSeen}},
  metadata: {nameProblems: subdomainName, generation: true},
  update: {unconditional: false},
  main: {metadata: 'common', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  subresources: {
    status: {
      metadata: 'common',
      writes: {update: ['metadata', 'status']},
      *validate({status}) {
        yield* validateConditions(status?.conditions, 'status.conditions');
        yield* validateCounters(status, counters);
      },
    },
  },
  presentation: {columns},
});
