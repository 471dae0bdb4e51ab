// The interface between volume manager and volume types.

import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';

export type PersistentVolume = ObjectOf<typeof kinds.persistentVolumes>;

/** A volume of a pod. */
export interface VolumeRequest {
  readonly pod: Frozen<Pod>;
  /** The name in the pod. */
  readonly name: string;
  /** The volume of the pod spec; for claims see `persistent`. */
  readonly volume: Frozen<Volume>;
  readonly persistent?: Frozen<PersistentVolume>;
  readonly isReadonly: boolean;
  /**
   * Applies the fsGroup of the pod to a path, if there is one. Called for a newly created volume, not for one that pods
   * have written to.
   */
  giveToGroup(path: string): Promise<void>;
}

/** A mounted volume. */
export interface MountedVolume {
  /** The path on the host. */
  readonly path: string;
  /** Whether it is read-only for containers. */
  readonly isReadonly?: boolean;
  /** Supplemental groups that its users need. */
  readonly groups?: readonly number[];
}

export interface VolumePlugin {
  /** The name in the plugin directory; undefined if its volumes have none. */
  readonly folder: string | undefined;
  /** Whether the volume is updated at each sync of the pod. */
  readonly isRefreshed: boolean;
  /** Whether the plugin supports the volume. */
  supports(request: Pick<VolumeRequest, 'volume' | 'persistent'>): boolean;
  /** Mounts the volume. It may be mounted already by an earlier process. */
  setUp(request: VolumeRequest): Promise<MountedVolume>;
}
