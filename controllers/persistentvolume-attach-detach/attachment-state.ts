// What should be attached, and what is. Data only: the reconciler decides.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {VolumePlugin, VolumeSpec} from '#controllers/shared/volumes/plugin.js';

/**
 * A volume that a plugin can attach. Its unique name is that of the plugin and what identifies the volume within it.
 */
export interface AttachableVolume {
  readonly name: string;
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
}

export interface WantedVolume {
  volume: AttachableVolume;
  /** The pods on the node that want it, by key. */
  readonly pods: Map<string, Frozen<Pod>>;
  /** Whether its pods know that it is attached elsewhere. */
  conflictReported: boolean;
}

/** The volumes that pods on managed nodes want. */
export class DesiredWorld {
  readonly #nodes = new Map<string, Map<string, WantedVolume>>();
  /** By pod: the places where it is noted. */
  readonly #pods = new Map<string, {readonly node: string; readonly volumes: Set<string>}>();

  add(volume: AttachableVolume, node: string, key: string, pod: Frozen<Pod>): void {
    if (this.#pods.has(key) && this.#pods.get(key)?.node !== node) this.removePod(key); // Another pod of the name.
    const volumes = this.#nodes.get(node) ?? new Map<string, WantedVolume>();
    this.#nodes.set(node, volumes);
    const wanted = volumes.get(volume.name) ?? {volume, pods: new Map(), conflictReported: false};
    wanted.volume = volume;
    wanted.pods.set(key, pod);
    volumes.set(volume.name, wanted);
    const known = this.#pods.get(key) ?? {node, volumes: new Set()};
    known.volumes.add(volume.name);
    this.#pods.set(key, known);
  }

  /** Returns whether the pod was known. */
  removePod(key: string): boolean {
    const known = this.#pods.get(key);
    if (!known) return false;
    const volumes = this.#nodes.get(known.node);
    for (const name of known.volumes) {
      const wanted = volumes?.get(name);
      wanted?.pods.delete(key);
      if (wanted?.pods.size === 0) volumes?.delete(name);
    }
    if (volumes?.size === 0) this.#nodes.delete(known.node);
    this.#pods.delete(key);
    return true;
  }

  get(name: string, node: string): WantedVolume | undefined {
    return this.#nodes.get(node)?.get(name);
  }

  *list(): Iterable<WantedVolume & {readonly node: string}> {
    for (const [node, volumes] of this.#nodes) for (const wanted of volumes.values()) yield Object.assign(wanted, {node});
  }

  podKeys(): Iterable<string> {
    return this.#pods.keys();
  }

  get isEmpty(): boolean {
    return this.#pods.size === 0;
  }
}

/** A volume on a node: attached, or perhaps, because an attempt to attach it failed or was interrupted. */
export interface ActualVolume {
  volume: AttachableVolume;
  readonly node: string;
  state: 'attached' | 'uncertain';
  devicePath: string;
  /** Since when it is to be detached, by the monotonic clock. */
  detachSince?: number | undefined;
  /** Whether the node's status lists it: pods may be started with it. */
  isReported: boolean;
}

/** The volumes that are attached to nodes, as far as is known. */
export class ActualWorld {
  readonly #volumes = new Map<string, Map<string, ActualVolume>>();
  readonly #nodes = new Map<string, Set<ActualVolume>>();
  /** Nodes whose status has to be written. */
  readonly unreported = new Set<string>();

  get(name: string, node: string): ActualVolume | undefined {
    return this.#volumes.get(name)?.get(node);
  }

  set(volume: AttachableVolume, node: string, state: ActualVolume['state'], devicePath = ''): void {
    const nodes = this.#volumes.get(volume.name) ?? new Map<string, ActualVolume>();
    this.#volumes.set(volume.name, nodes);
    const known = nodes.get(node);
    const isReported = state === 'attached';
    if (known?.isReported !== isReported || known.devicePath !== devicePath) this.unreported.add(node);
    const actual = Object.assign(known ?? {}, {volume, node, state, devicePath, isReported}) as ActualVolume;
    nodes.set(node, actual);
    this.#nodes.set(node, (this.#nodes.get(node) ?? new Set()).add(actual));
  }

  /** Sets whether the node's status is to list a volume. */
  report(actual: ActualVolume, isReported: boolean): void {
    if (actual.isReported === isReported) return;
    actual.isReported = isReported;
    this.unreported.add(actual.node);
  }

  remove(name: string, node: string): void {
    const nodes = this.#volumes.get(name);
    const known = nodes?.get(node);
    if (!known) return;
    if (known.isReported) this.unreported.add(node);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#volumes.delete(name);
    const onNode = this.#nodes.get(node);
    onNode?.delete(known);
    if (onNode?.size === 0) this.#nodes.delete(node);
  }

  /** Returns the nodes that a volume is attached to. */
  nodesOf(name: string): readonly string[] {
    return [...(this.#volumes.get(name)?.keys() ?? [])];
  }

  *list(): Iterable<ActualVolume> {
    for (const nodes of this.#volumes.values()) yield* nodes.values();
  }

  /** Returns what the status of a node is to list. */
  reportedOn(node: string): {readonly name: string; readonly devicePath: string}[] {
    const reported = [...(this.#nodes.get(node) ?? [])].filter(({isReported}) => isReported);
    return reported.map(({volume: {name}, devicePath}) => ({name, devicePath})).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get isEmpty(): boolean {
    return this.#volumes.size === 0;
  }
}
