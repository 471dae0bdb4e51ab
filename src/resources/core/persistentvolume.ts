import {collectErrors, isWrong} from '#src/api/collect-errors.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {NodeSelector, NodeSelectorTerm} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {defaultVolumeSource} from '#src/model/volume-defaults.js';
import {classAnnotation, classOf} from '#src/model/volumes.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nodeTermWarnings} from '#src/resources/validation/node-labels.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {mountOptionsKey, validateMountOptions, validateVolumeUpdate} from './persistentvolume-update.js';
import {validateVolumeSpec, type VolumeSpec} from './persistentvolume-validation.js';
import {accessModesText} from './access-modes.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;

const stampPhase = (volume: Volume, old: Readonly<Volume> | undefined, {clock}: HookContext): void => {
  const status = (volume.status ??= {});
  const before = old?.status;
  const {lastPhaseTransitionTime: requested} = status;
  if (status.phase === before?.phase) {
    if (!requested && before?.lastPhaseTransitionTime) status.lastPhaseTransitionTime = before.lastPhaseTransitionTime;
  } else if (!requested || requested === before?.lastPhaseTransitionTime) status.lastPhaseTransitionTime = wireTime(clock.now());
};

const anyLabel = (old: Readonly<Volume> | undefined): boolean => {
  const required = old?.spec?.nodeAffinity?.required;
  return required !== undefined && isWrong(validateNodeSelector(required as NodeSelector, '', false));
};

const claimText = ({spec}: Readonly<Volume>): string =>
  spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '';

const deprecatedSources: readonly (readonly [field: keyof VolumeSpec, name: string, text: string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function* warnings({metadata, spec}: Readonly<Volume>, _old: unknown, {naming}: HookContext): Iterable<string> {
  const key = classAnnotation(naming);
  if (metadata?.annotations?.[key] !== undefined)
    yield `metadata.annotations[${key}]: deprecated since v1.8; use "storageClassName" attribute instead`;
  const mountOptions = mountOptionsKey(naming);
  if (metadata?.annotations?.[mountOptions] !== undefined)
    yield `metadata.annotations[${mountOptions}]: deprecated since v1.31; use "mountOptions" attribute instead`;
  if (spec?.persistentVolumeReclaimPolicy === 'Recycle') {
    yield 'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';
  }
  for (const [i, term] of (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    yield* nodeTermWarnings(term as NodeSelectorTerm, `spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, naming);
  }
  for (const [field, name, text] of deprecatedSources) if (spec?.[field]) yield `spec.${name}: ${text}`;
}

/** PersistentVolume: a piece of storage and the claim it is bound to. */
export const persistentVolumes = defineResource<Volume>({
  kind: kinds.persistentVolumes,
  discovery: {shortNames: ['pv']},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: subdomainName},
  default(volume) {
    const spec = (volume.spec ??= {});
    (volume.status ??= {}).phase ||= 'Pending';
    spec.persistentVolumeReclaimPolicy ||= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    roundResourceLists(spec.capacity);
    defaultVolumeSource(spec);
  },
  main: {
    metadata: 'twice',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(volume, old, context) {
      if (old) return;
      volume.status = {phase: 'Pending'};
      stampPhase(volume, undefined, context);
    },
    *validate(volume, old, context) {
      const {naming} = context;
      const errors = collectErrors(
        validateVolumeSpec(volume.spec!, 'spec', {naming, name: volume.metadata?.name ?? '', inline: false, anyValue: anyLabel(old)}),
      );
      yield* errors;
      yield* validateMountOptions(volume, naming);
      if (!old) return;
      // An update is validated both as an object and as a change.
      yield* errors;
      yield* validateVolumeUpdate(volume, old, context);
    },
    warn: warnings,
  },
  subresources: {status: {writes: {update: ['metadata', 'status']}, prepare: stampPhase}},
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Capacity', description: 'How large the volume is.', of: ({spec}) => spec?.capacity?.['storage'] ?? '0'},
      {name: 'Access Modes', description: 'How the volume may be used.', of: ({spec}) => accessModesText(spec?.accessModes)},
      {
        name: 'Reclaim Policy',
        description: 'What becomes of the volume after its claim.',
        of: ({spec}) => spec?.persistentVolumeReclaimPolicy ?? '',
      },
      {
        name: 'Status',
        description: 'Whether the volume is free, bound or left.',
        of: ({metadata, status}) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
      },
      {name: 'Claim', description: 'The claim the volume is bound to.', of: claimText},
      {name: 'StorageClass', description: 'The class the volume belongs to.', of: (volume, _now, naming) => classOf(volume, naming)},
      {
        name: 'VolumeAttributesClass',
        description: 'The properties the volume has.',
        of: ({spec}) => spec?.volumeAttributesClassName ?? '<unset>',
      },
      {name: 'Reason', description: 'Why the volume is in its state.', of: ({status}) => status?.reason ?? ''},
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
