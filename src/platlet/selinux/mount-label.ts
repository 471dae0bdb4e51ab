// Which SELinux label a volume is mounted with for a pod. Pure functions.

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {SelinuxOptions} from './file-labels.js';

type PersistentVolume = Frozen<Pick<ObjectOf<typeof kinds.persistentVolumes>, 'spec'>>;

/** The gates of mounts with labels. */
export interface SelinuxGates {
  /** Volumes for one pod alone are mounted with labels: `SELinuxMountReadWriteOncePod`. */
  readonly mountsForOnePod: boolean;
  /** Pods choose whether their volumes are mounted with labels: `SELinuxChangePolicy`. */
  readonly hasChangePolicy: boolean;
  /** Volumes of all access modes are mounted with labels: `SELinuxMount`. */
  readonly mountsAll: boolean;
}

/** Containers of a pod that use the same volume have different labels. */
export class SeveralLabels extends Error {
  override readonly name = 'SeveralLabels';
}

/** Returns the SELinux options of the containers of a pod that mount a volume, as far as they have some. */
export const optionsOfUsers = ({spec}: Frozen<Pod>, volume: string): readonly Frozen<SelinuxOptions>[] =>
  containersOf(spec as never)
    .filter(({volumeMounts = []}) => volumeMounts.some(({name}) => name === volume))
    .flatMap(({securityContext}) => securityContext?.seLinuxOptions ?? spec?.securityContext?.seLinuxOptions ?? []);

/** Whether volumes with these access modes are mounted with labels. */
export const supportsLabels = ({mountsForOnePod, mountsAll}: SelinuxGates, persistent: PersistentVolume | undefined): boolean => {
  if (!mountsForOnePod || !persistent) return false;
  const modes = persistent.spec?.accessModes ?? [];
  return mountsAll || (modes.length === 1 && modes[0] === 'ReadWriteOncePod');
};

/**
 * Returns the label that a volume is mounted with, whatever its access modes are: empty for none. `labels`: those of
 * the containers that use it. Throws `SeveralLabels`.
 */
export const mountLabelOf = (
  {hasChangePolicy}: Pick<SelinuxGates, 'hasChangePolicy'>,
  {spec}: Frozen<Pick<Pod, 'spec'>>,
  {labels, isSupported}: {readonly labels: readonly string[]; readonly isSupported: boolean},
): string => {
  const different = [...new Set(labels)];
  if (different.length > 1) throw new SeveralLabels(`multiple SELinux labels found: ${different.join(',')}`);
  const isRecursive = hasChangePolicy && spec?.securityContext?.seLinuxChangePolicy === 'Recursive';
  return isSupported && !isRecursive ? (different[0] ?? '') : '';
};

/** In the order of which comes first in metrics. */
const modeNames = {ReadWriteMany: 'RWX', ReadOnlyMany: 'ROX', ReadWriteOnce: 'RWO', ReadWriteOncePod: 'RWOP'} as const;

/** Returns the access mode of a volume as metrics show it. */
export const accessModeOf = (persistent: PersistentVolume | undefined): string => {
  if (!persistent) return 'inline';
  const modes = persistent.spec?.accessModes ?? [];
  return Object.entries(modeNames).find(([mode]) => modes.includes(mode))?.[1] ?? '';
};

/** Returns mount options with that for a label, quoted since levels contain commas. */
export const withLabel = (options: readonly string[], label = ''): readonly string[] =>
  label === '' ? options : [...options, `context=${JSON.stringify(label)}`];
