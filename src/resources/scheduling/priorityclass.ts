import {forbiddenField, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';

type PriorityClass = ObjectOf<typeof kinds.priorityClasses>;

const systemPrefix = 'system-';
/** The highest priority that users may define. */
const highest = 1_000_000_000;
const policies = ['PreemptLowerPriority', 'Never'];

/** The built-in classes of critical components. */
export const systemPriorityClasses: readonly {readonly name: string; readonly value: number; readonly description: string}[] = [
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description: 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
];

const unknownSystemClass = (name: string, value: number, globalDefault: boolean): string | undefined => {
  const known = systemPriorityClasses.find(one => one.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
};

function* validateNew({metadata, value = 0, globalDefault = false, preemptionPolicy}: Readonly<PriorityClass>): Iterable<FieldError> {
  const name = metadata?.name ?? '';
  if (name.startsWith(systemPrefix)) {
    const problem = unknownSystemClass(name, value, globalDefault);
    if (problem)
      yield forbiddenField(
        'metadata.name',
        `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`,
      );
  } else if (value > highest) yield forbiddenField('value', `maximum allowed value of a user defined priority is ${highest}`);
  if (preemptionPolicy === '') yield required('preemptionPolicy');
  else if (preemptionPolicy !== undefined && !policies.includes(preemptionPolicy))
    yield notSupported('preemptionPolicy', preemptionPolicy, policies);
}

const writable = ['metadata', 'value', 'globalDefault', 'description', 'preemptionPolicy'];

/** PriorityClass: the priority of pods in scheduling and preemption. */
export const priorityClasses = defineResource<PriorityClass>({
  kind: kinds.priorityClasses,
  discovery: {shortNames: ['pc']},
  storage: {alwaysPresent: {value: 0}},
  metadata: {
    nameProblems: subdomainName,
    // No field that counts is mutable.
    generation: () => false,
  },
  default(object) {
    object.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  main: {
    writes: {create: writable, update: writable},
    *validate(object, old) {
      if (!old) return yield* validateNew(object);
      if (object.value !== old.value) yield forbiddenField('value', 'may not be changed in an update.');
      yield* immutable('preemptionPolicy', object.preemptionPolicy, old.preemptionPolicy);
    },
  },
  deletion: {
    begin: ({metadata}) =>
      systemPriorityClasses.some(({name}) => name === metadata?.name)
        ? {forbidden: 'this is a system priority class and cannot be deleted'}
        : 'remove',
  },
  presentation: {
    columns: [
      nameColumn,
      {name: 'Value', type: 'integer', description: 'The higher, the more important.', of: ({value}) => value},
      {
        name: 'Global-Default',
        type: 'boolean',
        description: 'Whether pods without a class get this one.',
        of: ({globalDefault}) => globalDefault ?? false,
      },
      ageColumn,
      {
        name: 'PreemptionPolicy',
        description: 'Whether pods of lower priority give way.',
        of: ({preemptionPolicy}) => preemptionPolicy ?? '',
      },
    ],
  },
});
