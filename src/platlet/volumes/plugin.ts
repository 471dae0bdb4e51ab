// A kind of volume, as the manager of volumes uses it.

import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';

export type PersistentVolume = ObjectOf<typeof kinds.persistentVolumes>;

/** A volume of a pod. */
export interface VolumeRequest {
  readonly pod: Frozen<Pod>;
  /** The name in the pod. */
  readonly name: string;
  /** The volume of the pod's spec; for claims `persistent` says what it is. */
  readonly volume: Frozen<Volume>;
  readonly persistent?: Frozen<PersistentVolume>;
  readonly isReadonly: boolean;
  /**
   * Gives what is at a path to the group of the pod, if it has one. Called for a volume that is made just now, and not
   * for what pods have written.
   */
  giveToGroup(path: string): Promise<void>;
}

/** A volume that is set up. */
export interface MountedVolume {
  /** Where it is on the host. */
  readonly path: string;
  /** Whether containers must not write to it. */
  readonly isReadonly?: boolean;
  /** Groups that its users have to be in. */
  readonly groups?: readonly number[];
}

export interface VolumePlugin {
  /** The name in the plugin's folder; undefined if its volumes have none. */
  readonly folder: string | undefined;
  /** Whether what is mounted is brought up to date with each sync of the pod. */
  readonly isRefreshed: boolean;
  /** Whether it has the volume. */
  supports(request: Pick<VolumeRequest, 'volume' | 'persistent'>): boolean;
  /** Makes the volume be there. It may be there already, from before. */
  setUp(request: VolumeRequest): Promise<MountedVolume>;
}
