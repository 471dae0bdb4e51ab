// Resolves a pod volume: its claim, its plugin, and whether the node may use it.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {Claims} from './claims.js';
import type {PersistentVolume, VolumePlugin, VolumeRequest} from './plugin.js';

export interface VolumeResolverParts {
  readonly naming: Naming;
  readonly plugins: readonly VolumePlugin[];
  readonly claims: Pick<Claims, 'of'>;
  /** Returns the Node; undefined while unknown. */
  node(): Frozen<Node> | undefined;
}

/** A resolved pod volume. */
export interface ResolvedVolume {
  readonly volume: Frozen<Volume>;
  /** The persistent volume of the claim; undefined without a claim. */
  readonly persistent: Frozen<PersistentVolume> | undefined;
  readonly isReadonly: boolean;
}

/** Resolves the volumes of pods. */
export class VolumeResolver {
  readonly #parts: VolumeResolverParts;

  constructor(parts: VolumeResolverParts) {
    this.#parts = parts;
  }

  /** Resolves a pod volume. Rejects while its claim is not bound. */
  async resolve(pod: Frozen<Pod>, name: string): Promise<ResolvedVolume> {
    const volume = pod.spec?.volumes?.find(each => each.name === name);
    if (!volume) throw new Error(`volume ${JSON.stringify(name)} is not in the pod any more`);
    const claimed = await this.#parts.claims.of(pod, volume);
    checkMode(pod, name, claimed?.persistent);
    return {volume, persistent: claimed?.persistent, isReadonly: claimed?.isReadonly ?? false};
  }

  /** Returns the plugin of a volume. Throws if there is none. */
  pluginOf(request: VolumeRequest): VolumePlugin {
    const plugin = this.#parts.plugins.find(each => each.supports(request));
    if (!plugin) throw new Error(refusalOf(sourceOf(request)));
    return plugin;
  }

  /** Whether the node may use a volume: a persistent volume may have node affinity. */
  allowsNode({persistent}: ResolvedVolume): boolean {
    const required = persistent?.spec?.nodeAffinity?.required;
    const node = required && this.#parts.node();
    return !node || matchesNodeSelector(required, node);
  }

  /** Returns the supplemental groups that a volume requires. */
  groupsOf({persistent}: ResolvedVolume): readonly number[] {
    const group = Number(persistent?.metadata?.annotations?.[this.#parts.naming.subKey('pv.beta', 'gid')]);
    return Number.isSafeInteger(group) && group > 0 ? [group] : [];
  }
}

/** Throws if containers mount a block device, or use a volume with files as a device. */
const checkMode = ({spec}: Frozen<Pod>, name: string, persistent: Frozen<PersistentVolume> | undefined): void => {
  if (!persistent) return;
  const containers = containersOf(spec as never);
  const isBlock = persistent.spec?.volumeMode === 'Block';
  const isUsed = (field: 'volumeMounts' | 'volumeDevices'): boolean =>
    containers.some(container => container[field]?.some(each => each.name === name));
  if (isBlock && isUsed('volumeMounts')) throw new Error(`volume ${name} has volumeMode Block, but is specified in volumeMounts`);
  if (!isBlock && isUsed('volumeDevices')) throw new Error(`volume ${name} has volumeMode Filesystem, but is specified in volumeDevices`);
};

/** Types that the original mounts with a client of the kernel, which would be one more to keep on each machine. */
const withClient: ReadonlySet<string> = new Set(['nfs', 'iscsi', 'fc']);

/** Returns why there are no volumes of a type. */
const refusalOf = (type: string): string => {
  if (withClient.has(type)) return `${type} volumes are mounted by storage drivers only: there is no ${type} client in this node agent`;
  if (type === 'gitRepo') return 'git-repo volume plugin has been disabled';
  return `no volume plugin matched name: ${type}`;
};

/** Fields of volumes and persistent volumes that are not volume sources. */
const plainFields: ReadonlySet<string> = new Set([
  'name',
  'accessModes',
  'capacity',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeMode',
  'nodeAffinity',
  'mountOptions',
]);

/** Returns the type of a volume: the name of its source field. */
const sourceOf = ({volume, persistent}: VolumeRequest): string =>
  Object.keys(persistent?.spec ?? volume).find(field => !plainFields.has(field)) ?? 'unknown';
