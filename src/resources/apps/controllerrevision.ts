import {required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonNegative} from '#src/resources/validation/numbers.js';

type ControllerRevision = ObjectOf<typeof kinds.controllerRevisions>;

function* validate(revision: Readonly<ControllerRevision>, old: Readonly<ControllerRevision> | undefined): Iterable<FieldError> {
  const data: unknown = revision.data;
  yield* nonNegative('revision', revision.revision);
  if (old) yield* immutable('data', revision.data, old.data);
  else if (data === undefined || data === null) yield required('data', 'data is mandatory');
  else if (typeof data !== 'object' || Array.isArray(data)) yield required('data', 'data must be a valid JSON object');
}

const controllerText = ({metadata}: Readonly<ControllerRevision>): string => {
  const owner = metadata?.ownerReferences?.find(({controller}) => controller);
  if (!owner) return '<none>';
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  return `${(group ? `${owner.kind}.${group}` : owner.kind).toLowerCase()}/${owner.name}`;
};

const columns: readonly Column<ControllerRevision>[] = [
  nameColumn,
  {name: 'Controller', description: 'Controller of the object', of: controllerText},
  {name: 'Revision', description: 'Its place in the history.', of: ({revision}) => revision ?? 0},
  ageColumn,
];

/** ControllerRevision: one state in the history of a workload, kept for rollbacks. */
export const controllerRevisions = defineResource<ControllerRevision>({
  kind: kinds.controllerRevisions,
  storage: {alwaysPresent: {revision: 0}},
  metadata: {nameProblems: subdomainName},
  main: {metadata: 'both', writes: {create: ['metadata', 'data', 'revision'], update: ['metadata', 'data', 'revision']}, validate},
  presentation: {columns},
});
