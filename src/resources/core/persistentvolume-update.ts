import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {HookContext} from '#src/resources/definition.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {internalDiff, internalForm} from '#src/schema/error-texts/internal-form.js';
import {renamedNodeLabels} from '#src/resources/validation/node-labels.js';
import {sourceFields, type VolumeSpec} from './persistentvolume-validation.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;

const sourceOf = (spec: Readonly<VolumeSpec>): Record<string, unknown> =>
  Object.fromEntries(sourceFields.map(field => [field, spec[field]]));

/** Reports whether an affinity equals the stored one, apart from node labels that were renamed. */
const sameAffinity = (affinity: VolumeSpec['nodeAffinity'], old: VolumeSpec['nodeAffinity'], naming: Naming): boolean => {
  const renamed = renamedNodeLabels(naming);
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const before = old?.required?.nodeSelectorTerms ?? [];
  // A label that has no other name counts as renamed to nothing, as in the original.
  const isRenamed = (key: string, i: number, j: number): boolean => (renamed.get(key) ?? '') === keyAt(i, j);
  const keyAt = (i: number, j: number): string | undefined => {
    const one = terms[i]?.matchExpressions?.[j];
    return one && (one.key ?? '');
  };
  const followed = before.map((term, i) => ({
    ...term,
    ...(term.matchExpressions
      ? {
          matchExpressions: term.matchExpressions.map((one, j) =>
            isRenamed(one.key, i, j) ? {...one, key: terms[i]!.matchExpressions![j]!.key} : one,
          ),
        }
      : {}),
  }));
  return semanticallyEqual(affinity, old?.required ? {...old, required: {...old.required, nodeSelectorTerms: followed}} : old);
};

/** Plugins that support mount options. */
const mounting = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
] as const;

export const mountOptionsKey = (naming: Naming): string => naming.subKey('volume.beta', 'mount-options');

export function* validateMountOptions({metadata, spec}: Readonly<Volume>, naming: Naming): Iterable<FieldError> {
  const key = mountOptionsKey(naming);
  if (metadata?.annotations?.[key] === undefined || mounting.some(field => spec?.[field])) return;
  yield forbiddenField(`metadata.annotations.${key}`, 'may not specify mount options for this volume type');
}

/** Validates an update of a volume: its source is immutable, except that the secret for expansion may be added. */
export function* validateVolumeUpdate(
  {spec = {}}: Readonly<Volume>,
  {spec: old = {}}: Readonly<Volume>,
  {gate, naming}: Pick<HookContext, 'gate' | 'naming'>,
): Iterable<FieldError> {
  const now = sourceOf(spec);
  if (spec.csi && old.csi && !old.csi.controllerExpandSecretRef) {
    const {controllerExpandSecretRef: _, ...driver} = spec.csi;
    now['csi'] = driver;
  }
  if (!semanticallyEqual(now, sourceOf(old))) {
    yield forbiddenField(
      'spec.persistentvolumesource',
      `spec.persistentvolumesource is immutable after creation\n${internalDiff('PersistentVolumeSource', sourceOf(old), now)}`,
    );
  }
  yield* immutable('volumeMode', spec.volumeMode, old.volumeMode);
  if (!gate('MutablePVNodeAffinity') && old.nodeAffinity && !sameAffinity(spec.nodeAffinity, old.nodeAffinity, naming)) {
    yield invalid(
      'nodeAffinity',
      spec.nodeAffinity && internalForm('VolumeNodeAffinity', spec.nodeAffinity),
      'field is immutable, except for updating from beta label to GA',
    );
  }
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    yield forbiddenField('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden');
  }
}
