import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import type {Namespace} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {labelName} from '#src/resources/validation/names.js';
import {validateFinalizerOrigin} from '#src/resources/validation/object-meta.js';

const finalizersPath = 'spec.finalizers';

/** Sets the label by which selectors find a namespace by name; it cannot be removed. */
const labelWithName = (namespace: Namespace, naming: Naming): void => {
  const {metadata} = namespace;
  if (metadata?.name) (metadata.labels ??= {})[naming.labels.metadataName] = metadata.name;
};

function* validateFinalizers(namespace: Readonly<Namespace>, naming: Naming, indexed: boolean): Iterable<FieldError> {
  for (const [i, finalizer] of (namespace.spec?.finalizers ?? []).entries()) {
    const path = indexed ? `${finalizersPath}[${i}]` : finalizersPath;
    for (const problem of labelKeyProblems(finalizer)) yield invalid(path, finalizer, problem);
    yield* validateFinalizerOrigin(finalizer, naming, path);
  }
}

function* validatePhase(namespace: Readonly<Namespace>): Iterable<FieldError> {
  const phase = namespace.status?.phase ?? '';
  const terminating = namespace.metadata?.deletionTimestamp !== undefined;
  if (!terminating && phase !== 'Active') yield invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty");
  if (terminating && phase !== 'Terminating')
    yield invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

const keepFinalizers = (namespace: Namespace, old: Readonly<Namespace>): void => {
  const spec = (namespace.spec ??= {});
  if (old.spec?.finalizers) spec.finalizers = old.spec.finalizers;
  else delete spec.finalizers;
};

/**
 * Namespace: a scope for names. Deletion has two steps: it is marked, and removed once its content is deleted and its
 * finalizers are empty.
 */
export const namespaces = defineResource<Namespace>({
  kind: kinds.namespaces,
  discovery: {shortNames: ['ns']},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: labelName},
  default(namespace, {naming}) {
    labelWithName(namespace, naming);
    (namespace.status ??= {}).phase ||= 'Active';
  },
  main: {
    metadata: 'both',
    // A writer of the finalizers comes to own them, although only `finalize` changes them.
    writes: {create: ['metadata', finalizersPath], update: ['metadata', finalizersPath]},
    prepare(namespace, old, {naming}) {
      labelWithName(namespace, naming);
      if (old) return keepFinalizers(namespace, old);
      namespace.status = {phase: 'Active'};
      const finalizers = ((namespace.spec ??= {}).finalizers ??= []);
      if (!finalizers.includes(naming.namespaceFinalizer)) finalizers.push(naming.namespaceFinalizer);
    },
    *validate(namespace, old, {naming}) {
      if (!old) yield* validateFinalizers(namespace, naming, false);
    },
  },
  subresources: {
    status: {writes: {update: ['metadata', 'status']}, validate: validatePhase},
    finalize: {
      verbs: ['update'],
      writes: {update: ['metadata', finalizersPath]},
      validate: (namespace, _old, {naming}) => validateFinalizers(namespace, naming, true),
    },
  },
  deletion: {
    excludesCollection: true,
    hasPhases: true,
    begin(namespace, {clock}) {
      const {metadata} = namespace;
      if (metadata && !metadata.deletionTimestamp) {
        metadata.deletionTimestamp = wireTime(clock.now());
        (namespace.status ??= {}).phase = 'Terminating';
        return 'keep';
      }
      return (namespace.spec?.finalizers ?? []).length === 0 ? 'remove' : 'keep';
    },
    mayRemove: namespace => (namespace.spec?.finalizers ?? []).length === 0,
  },
  selection: {fields: {'status.phase': namespace => namespace.status?.phase ?? ''}},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Status', description: 'The status of the namespace', of: namespace => namespace.status?.phase ?? ''},
      ageColumn,
    ],
  },
});
