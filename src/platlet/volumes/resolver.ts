// What a volume of a pod is: the claim behind it, the plugin that has it, and whether its node may use it.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import type {Claims} from './claims.js';
import type {PersistentVolume, VolumePlugin, VolumeRequest} from './plugin.js';

export interface VolumeResolverParts {
  readonly naming: Naming;
  readonly plugins: readonly VolumePlugin[];
  readonly claims: Pick<Claims, 'of'>;
  /** Returns the Node; undefined while it is not known. */
  node(): Frozen<Node> | undefined;
}

/** What a volume of a pod is. */
export interface ResolvedVolume {
  readonly volume: Frozen<Volume>;
  /** What the volume's claim is bound to; undefined if it is no claim. */
  readonly persistent: Frozen<PersistentVolume> | undefined;
  readonly isReadonly: boolean;
}

/** Resolves the volumes of pods. */
export class VolumeResolver {
  readonly #parts: VolumeResolverParts;

  constructor(parts: VolumeResolverParts) {
    this.#parts = parts;
  }

  /** Returns what a volume of a pod is. Rejects as long as its claim is not bound. */
  async resolve(pod: Frozen<Pod>, name: string): Promise<ResolvedVolume> {
    const volume = pod.spec?.volumes?.find(each => each.name === name);
    if (!volume) throw new Error(`volume ${JSON.stringify(name)} is not in the pod any more`);
    const claimed = await this.#parts.claims.of(pod, volume);
    return {volume, persistent: claimed?.persistent, isReadonly: claimed?.isReadonly ?? false};
  }

  /** Returns the plugin that has a volume. Throws if there is none. */
  pluginOf(request: VolumeRequest): VolumePlugin {
    const plugin = this.#parts.plugins.find(each => each.supports(request));
    if (!plugin) throw new Error(`no volume plugin matched name: ${sourceOf(request)}`);
    return plugin;
  }

  /** Whether the node may use a volume: a persistent one may be for other nodes only. */
  allowsNode({persistent}: ResolvedVolume): boolean {
    const required = persistent?.spec?.nodeAffinity?.required;
    const node = required && this.#parts.node();
    return !node || matchesNodeSelector(required, node);
  }

  /** Returns the groups that the users of a volume have to be in. */
  groupsOf({persistent}: ResolvedVolume): readonly number[] {
    const group = Number(persistent?.metadata?.annotations?.[this.#parts.naming.subKey('pv.beta', 'gid')]);
    return Number.isSafeInteger(group) && group > 0 ? [group] : [];
  }
}

/** Fields of volumes and persistent volumes that are not their type. */
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

/** Returns the type of a volume, as the field that has it. */
const sourceOf = ({volume, persistent}: VolumeRequest): string =>
  Object.keys(persistent?.spec ?? volume).find(field => !plainFields.has(field)) ?? 'unknown';
