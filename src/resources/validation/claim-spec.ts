import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type * as kinds from '#src/api/kinds/index.js';
import {compareQuantities, formatQuantity, zeroQuantity} from '#src/api/quantity.js';
import {validateLabelSelector} from './label-selector.js';
import {isWholeQuantity, quantityIn} from './resource-names.js';
import {resourceQuantity} from './resource-lists.js';
import {dnsLabel, each, notPositiveText, oneOf} from './values.js';

// Validation of a volume claim's spec, for claims, pod templates and stateful sets.

type Claim = typeof kinds.kinds.persistentVolumeClaims extends kinds.Kind<infer T> ? T : never;
export type ClaimSpec = NonNullable<Claim['spec']>;

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const volumeModes = ['Block', 'Filesystem'];

/** Validates access modes; ReadWriteOncePod excludes the others. */
export function* validateAccessModes(modes: readonly string[], path: string): Iterable<FieldError> {
  for (const mode of modes) yield* oneOf(path, mode, accessModes);
  if (modes.includes('ReadWriteOncePod') && modes.some(mode => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))) {
    yield forbiddenField(path, 'may not use ReadWriteOncePod with other access modes');
  }
}

/** What a stored claim may keep although a new one may not have it. */
export interface ClaimAllowances {
  /** Accepts invalid label values in the selector. */
  readonly anyValue?: boolean;
  /** Accepts invalid groups of data sources. */
  readonly anyGroup?: boolean;
}

interface Source {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

function* dataSource({apiGroup = '', kind, name}: Source, path: string, {anyGroup}: ClaimAllowances): Iterable<FieldError> {
  if (!name) yield required(`${path}.name`);
  if (!kind) yield required(`${path}.kind`);
  if (!apiGroup && kind !== 'PersistentVolumeClaim')
    yield invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (apiGroup && !anyGroup) yield* each(`${path}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup));
}

function* sources({dataSource: source, dataSourceRef: ref}: ClaimSpec, path: string, allow: ClaimAllowances): Iterable<FieldError> {
  if (source) yield* dataSource(source, `${path}.dataSource`, allow);
  if (ref) {
    yield* dataSource(ref, `${path}.dataSourceRef`, allow);
    if (ref.namespace) yield* dnsLabel(`${path}.dataSourceRef.namespace`, ref.namespace);
  }
  if (!source || !ref) return;
  if (ref.namespace) yield invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified');
  else if (source.apiGroup !== ref.apiGroup || source.kind !== ref.kind || source.name !== ref.name)
    yield invalid(path, {}, 'must match dataSourceRef');
}

function* size(text: string | undefined, path: string, naming: Naming): Iterable<FieldError> {
  if (text === undefined) return yield required(path);
  const quantity = quantityIn(text);
  if (compareQuantities(quantity, zeroQuantity) <= 0) yield invalid(path, formatQuantity(quantity), notPositiveText);
  else yield* resourceQuantity(path, 'storage', text, naming);
}

/** Warns about fractional bytes. */
export function* claimSpecWarnings({resources}: Pick<ClaimSpec, 'resources'>, path: string): Iterable<string> {
  for (const list of ['requests', 'limits'] as const) {
    const text = resources?.[list]?.['storage'];
    if (text !== undefined && !isWholeQuantity(quantityIn(text)))
      yield `${path}.resources.${list}[storage]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`;
  }
}

/** Validates a claim's spec, of a claim or of a pod's claim template. */
export function* validateClaimSpec(spec: ClaimSpec, path: string, naming: Naming, allow: ClaimAllowances = {}): Iterable<FieldError> {
  const {accessModes: modes = [], selector, resources, storageClassName, volumeMode, volumeAttributesClassName} = spec;
  if (modes.length === 0) yield required(`${path}.accessModes`, 'at least 1 access mode is required');
  if (selector) yield* validateLabelSelector(selector, `${path}.selector`, allow.anyValue);
  yield* validateAccessModes(modes, `${path}.accessModes`);
  yield* size(resources?.requests?.['storage'], `${path}.resources[storage]`, naming);
  if (storageClassName) yield* each(`${path}.storageClassName`, storageClassName, dnsSubdomainProblems(storageClassName));
  if (volumeMode !== undefined) yield* oneOf(`${path}.volumeMode`, volumeMode, volumeModes);
  yield* sources(spec, path, allow);
  if (volumeAttributesClassName)
    yield* each(`${path}.volumeAttributesClassName`, volumeAttributesClassName, dnsSubdomainProblems(volumeAttributesClassName));
}
