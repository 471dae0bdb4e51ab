import {duplicate, forbiddenField, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {nodeLabelText} from '#src/resources/validation/node-labels.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {qualifiedName} from '#src/resources/validation/values.js';
import {validateParameters, validateProvisioner} from './parameters.js';

type StorageClass = ObjectOf<typeof kinds.storageClasses>;
type Term = NonNullable<StorageClass['allowedTopologies']>[number];

const reclaimPolicies = ['Delete', 'Retain'];
const bindingModes = ['Immediate', 'WaitForFirstConsumer'];

function* validateTerm({matchLabelExpressions = []}: Readonly<Term>, path: string): Iterable<FieldError> {
  const keys = new Set<string>();
  for (const [i, {key, values = []}] of matchLabelExpressions.entries()) {
    const at = `${path}.matchLabelExpressions[${i}]`;
    const seen = new Set<string>();
    if (values.length === 0) yield required(`${at}.values`);
    for (const [j, value] of values.entries()) {
      if (seen.has(value)) yield duplicate(`${at}.values[${j}]`, value);
      seen.add(value);
    }
    yield* qualifiedName(`${at}.key`, key ?? '');
    if (keys.has(key)) yield duplicate(`${at}.key`, key);
    keys.add(key);
  }
}

/** Returns a text that is equal for equivalent terms. */
const canonicalTerm = ({matchLabelExpressions = []}: Readonly<Term>): string =>
  canonicalJson(
    Object.fromEntries(
      matchLabelExpressions.flatMap(({key, values = []}) => (values.length > 0 ? [[key, [...new Set(values)].sort()]] : [])),
    ),
  );

function* validateTopologies(terms: readonly Term[]): Iterable<FieldError> {
  const before = new Map<string, number>();
  for (const [i, term] of terms.entries()) {
    const path = `allowedTopologies[${i}]`;
    yield* validateTerm(term, path);
    // The original also compares with one empty term for each term.
    if ((term.matchLabelExpressions ?? []).length === 0) for (const _ of terms) yield duplicate(`${path}.matchLabelExpressions`, '');
    const meaning = canonicalTerm(term);
    const times = before.get(meaning) ?? 0;
    for (let other = 0; other < times; other++) yield duplicate(`${path}.matchLabelExpressions`, '');
    before.set(meaning, times + 1);
  }
}

function* validateClass(object: Readonly<StorageClass>): Iterable<FieldError> {
  const {provisioner, parameters = {}, reclaimPolicy, volumeBindingMode, allowedTopologies = []} = object;
  yield* validateProvisioner('provisioner', provisioner ?? '');
  yield* validateParameters(parameters, true);
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) yield notSupported('reclaimPolicy', reclaimPolicy, reclaimPolicies);
  if (volumeBindingMode === undefined) yield required('volumeBindingMode');
  else if (!bindingModes.includes(volumeBindingMode)) yield notSupported('volumeBindingMode', volumeBindingMode, bindingModes);
  yield* validateTopologies(allowedTopologies);
}

function* validateChange(object: Readonly<StorageClass>, old: Readonly<StorageClass>): Iterable<FieldError> {
  for (const field of ['parameters', 'provisioner', 'reclaimPolicy'] as const) {
    // Parameters given as empty are others than none.
    if (!semanticallyEqual(object[field], old[field]) || givenEmpty(object, field))
      yield forbiddenField(field, `updates to ${field} are forbidden.`);
  }
  yield* immutable('volumeBindingMode', object.volumeBindingMode, old.volumeBindingMode);
}

/** Reports whether the class is the default for claims without one. */
const isDefaultClass = ({metadata}: Pick<StorageClass, 'metadata'>, naming: Naming): boolean =>
  ['storageclass', 'storageclass.beta'].some(sub => metadata?.annotations?.[naming.subKey(sub, 'is-default-class')] === 'true');

const writable = [
  'metadata',
  'provisioner',
  'parameters',
  'reclaimPolicy',
  'mountOptions',
  'allowVolumeExpansion',
  'volumeBindingMode',
  'allowedTopologies',
];

/** StorageClass: how volumes are provisioned for claims that name the class. */
export const storageClasses = defineResource<StorageClass>({
  kind: kinds.storageClasses,
  discovery: {shortNames: ['sc']},
  metadata: {nameProblems: subdomainName},
  default(object) {
    object.reclaimPolicy ??= 'Delete';
    object.volumeBindingMode ??= 'Immediate';
  },
  main: {
    metadata: 'both',
    writes: {create: writable, update: writable},
    *validate(object, old) {
      yield* validateClass(object);
      if (old) yield* validateChange(object, old);
    },
    *warn({allowedTopologies = []}, _old, {naming}) {
      for (const [i, {matchLabelExpressions = []}] of allowedTopologies.entries()) {
        for (const [j, {key}] of matchLabelExpressions.entries()) {
          const text = nodeLabelText(key, naming);
          if (text) yield `allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${text}`;
        }
      }
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      {
        ...nameColumn,
        of: (object: Readonly<StorageClass>, _now, naming) =>
          `${object.metadata?.name ?? ''}${isDefaultClass(object, naming) ? ' (default)' : ''}`,
      },
      {name: 'Provisioner', description: 'The provisioner of the volumes.', of: ({provisioner}) => provisioner},
      {name: 'ReclaimPolicy', description: 'What becomes of a volume after its claim.', of: ({reclaimPolicy}) => reclaimPolicy ?? 'Delete'},
      {
        name: 'VolumeBindingMode',
        description: 'When a claim gets its volume.',
        of: ({volumeBindingMode}) => volumeBindingMode ?? 'Immediate',
      },
      {
        name: 'AllowVolumeExpansion',
        description: 'Whether volumes may grow.',
        of: ({allowVolumeExpansion}) => allowVolumeExpansion ?? false,
      },
      ageColumn,
    ],
  },
});
