// The interface of volume plugins: how a kind of storage is recognized, and what this process can do with it. Each
// facet is optional; drivers that run elsewhere have none.

import type {Frozen} from '#src/api/key.js';
import type {Volume as PodVolume} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Claim, StorageClass, Volume} from '#src/model/volumes.js';

/** Where the data of a volume is: the part of a pod's volume or of a persistent volume that names its storage. */
export type VolumeSource = Frozen<
  Pick<NonNullable<Volume['spec']>, 'csi' | 'flexVolume' | 'hostPath' | 'iscsi' | 'local' | 'nfs'> &
    Partial<Record<Exclude<keyof PodVolume, 'name'>, unknown>>
>;

/** A volume as plugins see it: of a persistent volume, or of a pod itself. */
export interface VolumeSpec {
  /** The name of the persistent volume, or of the volume in its pod. */
  readonly name: string;
  readonly source: VolumeSource;
  /** Undefined for a volume that a pod states inline. */
  readonly volume?: Frozen<Volume> | undefined;
}

/** Returns the spec of a persistent volume. */
export const specOf = (volume: Frozen<Volume>): VolumeSpec => ({
  name: volume.metadata?.name ?? '',
  source: (volume.spec ?? {}) as VolumeSource,
  volume,
});

export interface ProvisionRequest {
  readonly volumeName: string;
  readonly claim: Frozen<Claim>;
  readonly storageClass: Frozen<StorageClass>;
  /** The node that the scheduler selected. */
  readonly node?: Frozen<Node> | undefined;
}

/** Where a facet reports its progress, as Events of the volume. */
export type RecordProgress = (type: 'Normal' | 'Warning', message: string) => void;

/** Attaches volumes to nodes. All calls may be repeated. */
export interface Attacher {
  /** Whether this volume needs attaching; by default all do. */
  canAttach?(spec: VolumeSpec): boolean;
  /** Resolves to the device's path on the node, which may be empty. */
  attach(spec: VolumeSpec, node: string, wait: Waiting): Promise<string>;
  detach(spec: VolumeSpec, node: string, wait: Waiting): Promise<void>;
  /** Returns which of these volumes are still attached to the node. */
  areAttached(specs: readonly VolumeSpec[], node: string): Promise<readonly boolean[]>;
}

/** What a slow call waits with: virtual time passes meanwhile. */
export interface Waiting {
  readonly signal: AbortSignal;
  pause(ms: number): Promise<void>;
  released<T>(wait: () => Promise<T>): Promise<T>;
}

/** One kind of storage. */
export interface VolumePlugin {
  readonly name: string;
  readonly supportsMountOptions: boolean;
  /** Whether the plugin is responsible for a volume. */
  canSupport(spec: VolumeSpec): boolean;
  /** Returns what identifies a volume of this plugin. */
  uniqueName(spec: VolumeSpec): string;
  readonly attacher?: Attacher;
  /** Creates the storage of a claim, and returns its volume. */
  provision?(request: ProvisionRequest, wait: Waiting): Promise<Volume>;
  /** Deletes the storage of a volume. Throws `VolumeInUse` if that has to wait. */
  delete?(spec: VolumeSpec, wait: Waiting): Promise<void>;
  /** Removes all data of a volume, so that another claim can use it. */
  recycle?(spec: VolumeSpec, record: RecordProgress, wait: Waiting): Promise<void>;
  readonly expander?: {
    /** Whether the file system on the volume has to be expanded by the node afterwards. */
    readonly requiresNodeExpansion: boolean;
    /** Expands the storage, and returns its new size. Throws `ExpansionInfeasible` if a retry is useless. */
    expand(spec: VolumeSpec, newSize: string, oldSize: string, wait: Waiting): Promise<string>;
  };
}

/** Thrown when storage cannot be deleted because it is in use. */
export class VolumeInUse extends Error {
  override readonly name = 'VolumeInUse';
}

/** Thrown when storage can never be expanded to the requested size. */
export class ExpansionInfeasible extends Error {
  override readonly name = 'ExpansionInfeasible';
}

/** The volume plugins of a process. */
export class VolumePlugins {
  readonly #plugins: readonly VolumePlugin[];

  constructor(plugins: readonly VolumePlugin[]) {
    this.#plugins = plugins;
  }

  /** Returns the one plugin that is responsible for a volume; undefined if there is none, or several. */
  find(spec: VolumeSpec): VolumePlugin | undefined {
    let found: VolumePlugin | undefined;
    for (const plugin of this.#plugins) {
      if (!plugin.canSupport(spec)) continue;
      if (found) return undefined;
      found = plugin;
    }
    return found;
  }

  /** Returns the one plugin that is responsible for a volume. Throws if there is none, or several. */
  forSpec(spec: VolumeSpec): VolumePlugin {
    const [found, ...others] = this.#plugins.filter(plugin => plugin.canSupport(spec));
    if (!found) throw new Error('no volume plugin matched');
    if (others.length > 0) throw new Error(`multiple volume plugins matched: ${[found, ...others].map(({name}) => name).join(',')}`);
    return found;
  }

  /** Returns the plugin of a name. Throws if there is none. */
  named(name: string): VolumePlugin {
    const found = this.#plugins.find(plugin => plugin.name === name);
    if (!found) throw new Error(`no volume plugin matched name: ${name}`);
    return found;
  }
}
