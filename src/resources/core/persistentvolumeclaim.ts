import {forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, quantityValue, zeroQuantity} from '#src/api/quantity.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {claimSpecWarnings, validateClaimSpec, type ClaimAllowances} from '#src/resources/validation/claim-spec.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {internalDiff} from '#src/schema/error-texts/internal-form.js';
import {hasInvalidValues} from '#src/resources/validation/label-selector.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {resourceQuantity} from '#src/resources/validation/resource-lists.js';
import {isNativeResource} from '#src/model/resource-names.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import {classAnnotation, classOf} from '#src/model/volumes.js';
import {accessModesText} from './access-modes.js';

type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;
type Spec = NonNullable<Claim['spec']>;

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

/** Copies one data source field to the other where both can represent it. */
const copyDataSource = (spec: Spec): void => {
  if (spec.dataSource && !spec.dataSourceRef) spec.dataSourceRef = {...spec.dataSource};
  else if (!spec.dataSource && spec.dataSourceRef && !spec.dataSourceRef.namespace) {
    const {namespace: _, ...local} = spec.dataSourceRef;
    spec.dataSource = local;
  }
};

/**
 * Drops sources that are not supported: `dataSource` refers to claims and snapshots only; other namespaces need a gate.
 */
const normalizeDataSources = (spec: Spec, old: Spec | undefined, {naming, gate}: HookContext): void => {
  if (!gate('CrossNamespaceVolumeDataSource') && !old?.dataSourceRef && spec.dataSourceRef?.namespace) delete spec.dataSourceRef;
  const {dataSource: source} = spec;
  const inUse = Boolean(old?.dataSource ?? old?.dataSourceRef);
  const isClaim = source?.kind === 'PersistentVolumeClaim' && !source.apiGroup;
  const isSnapshot = source?.kind === 'VolumeSnapshot' && source.apiGroup === `snapshot.${naming.group('storage')}`;
  if (!inUse && !spec.dataSourceRef && !isClaim && !isSnapshot) delete spec.dataSource;
  copyDataSource(spec);
};

/** Returns the spec without its permitted changes: expansion of a bound claim, and setting its volume or class once. */
const immutableSpec = (claim: Readonly<Claim>, old: Readonly<Claim>): Spec => {
  const {status} = claim;
  const {spec = {}} = claim;
  const {spec: before = {}} = old;
  const copy: Spec = {...spec, ...(spec.resources ? {resources: {...spec.resources}} : {})};
  if (!before.volumeName) delete copy.volumeName;
  if (before.storageClassName === undefined && spec.storageClassName !== undefined) delete copy.storageClassName;
  if (status?.phase !== 'Bound') return copy;
  const size = before.resources?.requests?.['storage'];
  if (copy.resources?.requests && size !== undefined) copy.resources.requests = {...copy.resources.requests, storage: size};
  if (before.volumeAttributesClassName === undefined) delete copy.volumeAttributesClassName;
  else copy.volumeAttributesClassName = before.volumeAttributesClassName;
  return copy;
};

function* validateChange(claim: Readonly<Claim>, old: Readonly<Claim>, naming: Naming): Iterable<FieldError> {
  const {spec: now = {}} = claim;
  const before = {...old.spec};
  copyDataSource(before);
  const key = classAnnotation(naming);
  const [annotation, annotated] = [claim, old].map(({metadata}) => metadata?.annotations?.[key]);
  const movesFromAnnotation =
    annotated !== undefined &&
    before.storageClassName === undefined &&
    now.storageClassName === annotated &&
    (annotation ?? annotated) === annotated;
  if (!movesFromAnnotation && (annotation ?? '') !== (annotated ?? ''))
    yield invalid(`metadata.annotations.${key}`, annotation ?? '', 'field is immutable');
  const wrongClass =
    before.storageClassName === undefined &&
    annotated !== undefined &&
    now.storageClassName !== undefined &&
    now.storageClassName !== annotated;
  const aligned = {...old, spec: before};
  const [kept, stored] = [immutableSpec(claim, aligned), immutableSpec({...aligned, status: claim.status!}, aligned)];
  if (wrongClass || !semanticallyEqual(kept, stored)) {
    const shown = internalDiff('PersistentVolumeClaimSpec', stored, wrongClass ? {...kept, storageClassName: now.storageClassName} : kept);
    yield forbiddenField(
      'spec',
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${shown}`,
    );
  }
  const size = quantityIn(now.resources?.requests?.['storage'] ?? '0');
  if (
    compareQuantities(size, quantityIn(before.resources?.requests?.['storage'] ?? '0')) < 0 &&
    compareQuantities(size, quantityIn(old.status?.capacity?.['storage'] ?? '0')) <= 0
  ) {
    yield forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity');
  }
  yield* immutable('volumeMode', now.volumeMode, before.volumeMode);
  if (
    before.volumeAttributesClassName !== now.volumeAttributesClassName &&
    old.status?.currentVolumeAttributesClassName !== undefined &&
    !now.volumeAttributesClassName
  ) {
    const to = now.volumeAttributesClassName === undefined ? 'nil' : 'empty string';
    yield forbiddenField(
      'spec.volumeAttributesClassName',
      `update to ${to} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    );
  }
}

function* validateKey(path: string, name: string, naming: Naming): Iterable<FieldError> {
  const problems = labelKeyProblems(name);
  for (const problem of problems) yield invalid(path, name, problem);
  if (problems.length === 0 && isNativeResource(name, naming) && name !== 'storage') yield notSupported(path, name, ['storage']);
}

function* validateBasic(path: string, text: string): Iterable<FieldError> {
  const quantity = quantityIn(text);
  if (compareQuantities(quantity, zeroQuantity) < 0)
    yield invalid(path, Number(quantityValue(quantity)), 'must be a valid resource quantity');
}

function* validateStatus({status = {}}: Readonly<Claim>, naming: Naming): Iterable<FieldError> {
  for (const [name, text] of Object.entries(status.capacity ?? {})) yield* validateBasic(`status.capacity[${name}]`, text);
  for (const [name, state] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    const path = 'status.allocatedResourceStatuses';
    yield* validateKey(path, name, naming);
    if (!resizeStates.includes(state)) yield notSupported(path, name, [...resizeStates].sort());
  }
  for (const [name, text] of Object.entries(status.allocatedResources ?? {})) {
    const path = 'status.allocatedResources';
    const wrong = [...validateKey(path, name, naming)];
    if (wrong.length > 0) {
      yield* wrong;
      continue;
    }
    const negative = [...validateBasic(`${path}[${name}]`, text)];
    yield* negative.length > 0 ? negative : resourceQuantity(`${path}[${name}]`, 'storage', text, naming);
  }
}

const allowances = (old: Readonly<Claim> | undefined): ClaimAllowances => {
  const {selector, dataSource, dataSourceRef} = old?.spec ?? {};
  return {
    anyValue: hasInvalidValues(selector),
    anyGroup: typeof dataSource?.apiGroup === 'string' || typeof dataSourceRef?.apiGroup === 'string',
  };
};

/** PersistentVolumeClaim: a request for storage, which is bound to a matching volume. */
export const persistentVolumeClaims = defineResource<Claim>({
  kind: kinds.persistentVolumeClaims,
  discovery: {shortNames: ['pvc']},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: subdomainName},
  default(claim) {
    const spec = (claim.spec ??= {});
    spec.volumeMode ??= 'Filesystem';
    spec.resources ??= {};
    const status = (claim.status ??= {});
    status.phase ||= 'Pending';
    roundResourceLists(spec.resources.limits, spec.resources.requests, status.capacity, status.allocatedResources);
  },
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(claim, old, context) {
      if (!old) claim.status = {phase: 'Pending'};
      normalizeDataSources(claim.spec!, old?.spec, context);
    },
    *validate(claim, old, {naming}) {
      yield* validateClaimSpec(claim.spec!, 'spec', naming, allowances(old));
      if (old) yield* validateChange(claim, old, naming);
    },
    *warn({metadata, spec}, _old, {naming}) {
      const key = classAnnotation(naming);
      if (metadata?.annotations?.[key] !== undefined)
        yield `metadata.annotations[${key}]: deprecated since v1.8; use "storageClassName" attribute instead`;
      yield* claimSpecWarnings(spec!, 'spec');
    },
  },
  subresources: {
    status: {writes: {update: ['metadata', 'status']}, validate: (claim, _old, {naming}) => validateStatus(claim, naming)},
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Status',
        description: 'Whether the claim has its volume.',
        of: ({metadata, status}) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
      },
      {name: 'Volume', description: 'The volume the claim is bound to.', of: ({spec}) => spec?.volumeName ?? ''},
      {
        name: 'Capacity',
        description: 'How large the volume is.',
        of: ({spec, status}) => (spec?.volumeName ? (status?.capacity?.['storage'] ?? '0') : ''),
      },
      {
        name: 'Access Modes',
        description: 'How the volume may be used.',
        of: ({spec, status}) => (spec?.volumeName ? accessModesText(status?.accessModes) : ''),
      },
      {name: 'StorageClass', description: 'The class the claim asks for.', of: (claim, _now, naming) => classOf(claim, naming)},
      {
        name: 'VolumeAttributesClass',
        description: 'The properties the claim asks for.',
        of: ({spec}) => spec?.volumeAttributesClassName ?? '<unset>',
      },
      ageColumn,
      {
        name: 'VolumeMode',
        description: 'Whether the volume is a file system or a bare device.',
        priority: 1,
        of: ({spec}) => spec?.volumeMode ?? '<unset>',
      },
    ],
  },
});
