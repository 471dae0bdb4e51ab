import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {NodeSelector} from '#src/api/pod.js';
import {compareQuantities, formatQuantity, quantityValue, zeroQuantity} from '#src/api/quantity.js';
import {validateAccessModes, volumeModes} from '#src/resources/validation/claim-spec.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import {dnsLabel, dnsSubdomain, each, notPositiveText, oneOf} from '#src/resources/validation/values.js';
import * as sources from '#src/resources/validation/volume-sources.js';

// Validation of a persistent volume's spec, also where it is inlined in a volume attachment.

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
export type VolumeSpec = NonNullable<Volume['spec']>;
type Source<Field extends keyof VolumeSpec> = NonNullable<VolumeSpec[Field]>;

interface Reference {
  readonly name?: string;
  readonly namespace?: string;
}

interface SourceContext {
  readonly naming: Naming;
  /** The volume's own name. */
  readonly name: string;
}

const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];

function* secret(reference: Reference | undefined, path: string, ...fields: readonly (keyof Reference)[]): Iterable<FieldError> {
  if (reference) yield* sources.present(`${path}.secretRef`, reference, ...fields);
}

function* csi(source: Source<'csi'>, path: string): Iterable<FieldError> {
  yield* sources.csiDriverName(`${path}.driver`, source.driver ?? '');
  if (!source.volumeHandle) yield required(`${path}.volumeHandle`);
  for (const field of ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'] as const) {
    const reference = source[field];
    if (!reference) continue;
    if (reference.name) yield* dnsSubdomain(`${path}.${field}.name`, reference.name);
    else yield required(`${path}.${field}.name`);
    if (reference.namespace) yield* dnsLabel(`${path}.${field}.namespace`, reference.namespace);
    else yield required(`${path}.${field}.namespace`);
  }
}

function* glusterfs(source: Source<'glusterfs'>, path: string): Iterable<FieldError> {
  yield* sources.present(path, source, 'endpoints', 'path');
  const {endpointsNamespace: namespace} = source;
  if (namespace === '')
    yield invalid(`${path}.endpointsNamespace`, namespace, 'if the endpointnamespace is set, it must be a valid namespace name');
  else if (namespace !== undefined) yield* each(`${path}.endpointsNamespace`, namespace, dnsLabelProblems(namespace));
}

function* iscsi(source: Source<'iscsi'>, path: string, {name}: SourceContext): Iterable<FieldError> {
  if (sources.isLongIscsi(name, source)) yield invalid(`${path}.targetportal`, source.targetPortal, sources.longIscsiText);
  yield* sources.iscsi(source, path, 'must be valid format');
  yield* secret(source.secretRef, path, 'name');
}

function* azureFile(source: Source<'azureFile'>, path: string): Iterable<FieldError> {
  yield* sources.present(path, source, 'secretName', 'shareName');
  if (source.secretNamespace === '') yield required(`${path}.secretNamespace`);
}

type SourceValidator = (source: never, path: string, context: SourceContext) => Iterable<FieldError>;

const needing =
  (...fields: readonly string[]) =>
  (source: object, path: string): Iterable<FieldError> =>
    sources.present(path, source, ...fields);

function* storageOs(source: Source<'storageos'>, path: string): Iterable<FieldError> {
  yield* sources.storageOs(source, path);
  if (source.secretRef && !source.secretRef.namespace) yield required(`${path}.secretRef.namespace`);
}

function* cinder(source: Source<'cinder'>, path: string): Iterable<FieldError> {
  yield* sources.present(path, source, 'volumeID');
  yield* secret(source.secretRef, path, 'name', 'namespace');
}

/** The validation of each volume source in the order of the original's errors, with the original's paths. */
const sourceValidators: readonly (readonly [field: keyof VolumeSpec, path: string, validate: SourceValidator])[] = [
  ['hostPath', 'hostPath', sources.hostPath],
  ['gcePersistentDisk', 'persistentDisk', sources.disk('pdName')],
  ['awsElasticBlockStore', 'awsElasticBlockStore', sources.disk('volumeID')],
  ['glusterfs', 'glusterfs', glusterfs],
  ['flocker', 'flocker', sources.flocker],
  ['nfs', 'nfs', sources.nfs],
  ['rbd', 'rbd', needing('monitors', 'image')],
  ['quobyte', 'quobyte', sources.quobyte],
  ['cephfs', 'cephfs', needing('monitors')],
  ['iscsi', 'iscsi', iscsi],
  ['cinder', 'cinder', cinder],
  ['fc', 'fc', sources.fibreChannel],
  [
    'flexVolume',
    'flexVolume',
    (source: Source<'flexVolume'>, path: string, {naming}: SourceContext) => sources.flexVolume(source, path, naming),
  ],
  ['azureFile', 'azureFile', azureFile],
  ['vsphereVolume', 'vsphereVolume', needing('volumePath')],
  ['photonPersistentDisk', 'photonPersistentDisk', needing('pdID')],
  ['portworxVolume', 'portworxVolume', needing('volumeID')],
  ['azureDisk', 'azureDisk', sources.azureDisk],
  ['scaleIO', 'scaleIO', needing('gateway', 'system', 'volumeName')],
  ['local', 'local', sources.localPath],
  ['storageos', 'storageos', storageOs],
  ['csi', 'csi', csi],
];

function* validateSource(spec: Readonly<VolumeSpec>, path: string, context: SourceContext): Iterable<FieldError> {
  let found = 0;
  for (const [field, at, validate] of sourceValidators) {
    const source = spec[field];
    if (!source) continue;
    // Only flexVolume may stand beside another source.
    if (found > 0 && field !== 'flexVolume')
      yield forbiddenField(`${path}.${field === 'cephfs' ? 'cephFS' : field}`, 'may not specify more than 1 volume type');
    else {
      yield* validate(source as never, `${path}.${at}`, context);
      if (field === 'local' && !spec.nodeAffinity) yield required(`${path}.nodeAffinity`, 'Local volume requires node affinity');
    }
    found++;
  }
  if (found === 0) yield required(path, 'must specify a volume type');
}

function* validateCapacity(capacity: Readonly<Record<string, string>> | undefined, path: string): Iterable<FieldError> {
  const entries = Object.entries(capacity ?? {});
  if (entries.length === 0) yield required(path);
  if (capacity?.['storage'] === undefined || entries.length > 1) yield notSupported(path, capacity, ['storage']);
  for (const [name, text] of entries) {
    const quantity = quantityIn(text);
    if (compareQuantities(quantity, zeroQuantity) < 0)
      yield invalid(`${path}[${name}]`, Number(quantityValue(quantity)), 'must be a valid resource quantity');
    if (compareQuantities(quantity, zeroQuantity) <= 0) yield invalid(`${path}[${name}]`, formatQuantity(quantity), notPositiveText);
  }
}

const inline = 'in the context of inline volumes';

function* onlyOfVolumes(spec: Readonly<VolumeSpec>, path: string): Iterable<FieldError> {
  if (spec.claimRef) yield forbiddenField(`${path}.claimRef`, `may not be specified ${inline}`);
  if (Object.keys(spec.capacity ?? {}).length > 0) yield forbiddenField(`${path}.capacity`, `may not be specified ${inline}`);
  if (!spec.csi) yield required(`${path}.csi`, `has to be specified ${inline}`);
}

function* policyAndAffinity(spec: Readonly<VolumeSpec>, path: string, isInline: boolean, anyValue: boolean): Iterable<FieldError> {
  const {persistentVolumeReclaimPolicy: policy, nodeAffinity} = spec;
  if (policy && isInline && policy !== 'Retain')
    yield forbiddenField(`${path}.persistentVolumeReclaimPolicy`, `may only be Retain ${inline}`);
  if (policy && !isInline) yield* oneOf(`${path}.persistentVolumeReclaimPolicy`, policy, reclaimPolicies);
  if (!nodeAffinity) return;
  if (isInline) yield forbiddenField(`${path}.nodeAffinity`, `may not be specified ${inline}`);
  else if (!nodeAffinity.required) yield required(`${path}.nodeAffinity.required`, 'must specify required node constraints');
  else yield* validateNodeSelector(nodeAffinity.required as NodeSelector, `${path}.nodeAffinity.required`, anyValue);
}

function* classes(
  {storageClassName, volumeMode, volumeAttributesClassName: attributes, csi: driver}: Readonly<VolumeSpec>,
  path: string,
  isInline: boolean,
): Iterable<FieldError> {
  if (storageClassName) {
    if (isInline) yield forbiddenField(`${path}.storageClassName`, `may not be specified ${inline}`);
    else yield* dnsSubdomain(`${path}.storageClassName`, storageClassName);
  }
  if (volumeMode !== undefined) {
    if (!isInline) yield* oneOf(`${path}.volumeMode`, volumeMode, volumeModes);
    else if (volumeMode !== 'Filesystem')
      yield forbiddenField(`${path}.volumeMode`, `may not specify volumeMode other than Filesystem ${inline}`);
  }
  if (attributes === undefined) return;
  if (attributes === '') yield required(`${path}.volumeAttributesClassName`, 'an empty string is disallowed');
  else yield* dnsSubdomain(`${path}.volumeAttributesClassName`, attributes);
  if (!driver) yield required(`${path}.csi`, 'has to be specified when using volumeAttributesClassName');
}

export interface VolumeRules {
  readonly naming: Naming;
  readonly name: string;
  /** The volume is inlined in another object, where only its source is validated. */
  readonly inline: boolean;
  /** Accepts invalid label values in the affinity. */
  readonly anyValue: boolean;
}

/** Validates source, capacity and access modes of a volume. */
export function* validateVolumeSpec(
  spec: Readonly<VolumeSpec>,
  path: string,
  {naming, name, inline: isInline, anyValue}: VolumeRules,
): Iterable<FieldError> {
  if (isInline) yield* onlyOfVolumes(spec, path);
  if ((spec.accessModes ?? []).length === 0) yield required(`${path}.accessModes`);
  yield* validateAccessModes(spec.accessModes ?? [], `${path}.accessModes`);
  if (!isInline) yield* validateCapacity(spec.capacity, `${path}.capacity`);
  yield* policyAndAffinity(spec, path, isInline, anyValue);
  yield* validateSource(spec, path, {naming, name});
  const isRoot = spec.hostPath && /^\/(\.?\/)*\.?$/.test(spec.hostPath.path ?? '');
  if (isRoot && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    yield forbiddenField(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'");
  }
  yield* classes(spec, path, isInline);
}

/** The fields of volume sources. */
export const sourceFields: readonly (keyof VolumeSpec)[] = sourceValidators.map(([field]) => field);
