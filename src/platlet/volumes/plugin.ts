// The interface between volume manager and volume types.

import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {FilesystemStats} from '#src/api/node/stats.js';
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
  /** The SELinux label that it is mounted with, empty for none; undefined if no volume of the node has one. */
  readonly label?: string;
  /**
   * Applies the fsGroup of the pod to a path, if there is one. Called for a newly created volume, not for one that pods
   * have written to.
   */
  giveToGroup(path: string): Promise<void>;
}

/** Why a volume cannot be used yet, with what the event says about the failed step. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
  readonly what: string;
  readonly reason: string;

  constructor(what: string, message: string, options?: ErrorOptions & {readonly reason?: string}) {
    super(message, options);
    this.what = what;
    this.reason = options?.reason ?? 'FailedMount';
  }
}

/** Thrown while a volume is not attached to the node. It is tried again soon, and is no failure. */
export class NotAttached extends Error {
  override readonly name = 'NotAttached';
}

/**
 * Thrown while a volume is mounted with another SELinux label for pods that end. It is tried again soon, and the pod is
 * told.
 */
export class StillMounted extends Error {
  override readonly name = 'StillMounted';

  constructor(volume: string) {
    const why = 'it is already mounted to a different pod with a different SELinux label';
    super(`waiting for unmount of volume ${JSON.stringify(volume)}, because ${why}`);
  }
}

/** A volume that can be mounted with an SELinux label. */
export interface ContextMount {
  /** Its name on the node, the same for all pods that share it. */
  readonly uniqueName: string;
  /** Its type, and its driver if it has one. */
  readonly plugin: string;
}

/** The usage of a volume, and its condition if it is known. */
export interface MeasuredVolume extends FilesystemStats {
  readonly health?: {readonly abnormal: boolean; readonly message: string};
}

/** A mounted volume. */
export interface MountedVolume {
  /** The path on the host. */
  readonly path: string;
  /** Whether the path leads to a block device: it is no folder to mount. */
  readonly isDevice?: boolean;
  /** Whether it is an image, which the runtime mounts: there is no path. */
  readonly isImage?: boolean;
  /** Whether it is read-only for containers. */
  readonly isReadonly?: boolean;
  /** Whether its files get the SELinux label of containers, on machines with SELinux; default no. */
  readonly isRelabelled?: boolean;
  /**
   * Measures the volume; undefined if that is not possible. Without it the file system is measured.
   */
  readonly measure?: () => Promise<MeasuredVolume | undefined>;
  /** Supplemental groups that its users need. */
  readonly groups?: readonly number[];
}

export interface VolumePlugin {
  /** The name in the plugin directory; undefined if its volumes have none. */
  readonly folder: string | undefined;
  /** Its name in metrics; undefined for a plugin that measures operations itself. */
  readonly measuredAs?: string;
  /** Whether the volume is updated at each sync of the pod. */
  readonly isRefreshed: boolean | ((request: VolumeRequest) => boolean);
  /** Whether persistent volumes may have mount options; default no. */
  readonly hasMountOptions?: boolean;
  /** Whether volumes may be block devices; default no. */
  readonly hasDevices?: boolean;
  /** Whether the plugin supports the volume. */
  supports(request: Pick<VolumeRequest, 'volume' | 'persistent'>): boolean;
  /** Resolves with undefined if the volume cannot be mounted with an SELinux label; without it none can. */
  contextMount?(request: VolumeRequest): Promise<ContextMount | undefined>;
  /** Mounts the volume. It may be mounted already by an earlier process. */
  setUp(request: VolumeRequest): Promise<MountedVolume>;
  /** Called at each sync of a pod whose volume is mounted: expands it if it has become larger. */
  expand?(request: VolumeRequest): Promise<void>;
  /**
   * Called for a volume that was not attached in time: whether the node has as many volumes of its kind as it can have.
   */
  isBeyondLimit?(request: VolumeRequest): Promise<boolean>;
  /** Unmounts the volumes of a pod. What is left in its folders is then unmounted and removed. */
  tearDown?(uid: string): Promise<void>;
  /** Called periodically: releases what pods that are gone have left on the node. */
  sweep?(): void;
}
