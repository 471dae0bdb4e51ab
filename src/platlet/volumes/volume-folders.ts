// The volumes of pods on the disk of a node.

import {join} from 'node:path';
import type {Log} from '#src/base/log.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, removeUnmounted, type Host} from '#src/platlet/host/host.js';
import type {VolumePlugin} from './plugin.js';
import type {StorageOperations} from './storage-operations.js';

export interface VolumeFoldersParts {
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly log: Log;
  /** The types of volumes. */
  readonly plugins: readonly Pick<VolumePlugin, 'tearDown' | 'sweep' | 'folder' | 'measuredAs'>[];
  readonly operations: Pick<StorageOperations, 'measured'>;
}

const podMode = 0o750;

/** The pod directories that contain volumes. */
export class VolumeFolders {
  readonly #parts: VolumeFoldersParts;

  constructor(parts: VolumeFoldersParts) {
    this.#parts = parts;
  }

  /** Creates the directories of a pod. */
  async make(uid: string): Promise<void> {
    const {host, folders} = this.#parts;
    for (const folder of [folders.pod(uid), folders.volumes(uid), this.#plugins(uid)]) await host.makeFolder(folder, podMode);
  }

  /** Unmounts and removes the volumes of a pod. Returns whether none is left. */
  async empty(uid: string): Promise<boolean> {
    const {host, folders, log, plugins} = this.#parts;
    try {
      for (const {path} of await mountsBelow(host, folders.subPaths(uid))) await host.unmount(path);
      for (const plugin of plugins) await plugin.tearDown?.(uid);
      for (const plugin of plugins) await this.#unmount(uid, plugin);
      // Mounts are unmounted first: removing a mount point would delete data of others.
      for (const {path} of await mountsBelow(host, folders.pod(uid))) await host.unmount(path);
      for (const folder of [folders.subPaths(uid), folders.volumes(uid), this.#plugins(uid)]) await removeUnmounted(host, folder);
      return true;
    } catch (error) {
      log.error({pod: uid, err: error}, 'failed to remove the volumes of a pod');
      return false;
    }
  }

  /** Unmounts and removes the volumes of a type one by one, which is measured. */
  async #unmount(uid: string, {folder, measuredAs}: Pick<VolumePlugin, 'folder' | 'measuredAs'>): Promise<void> {
    if (folder === undefined || measuredAs === undefined) return;
    const {host, folders, operations} = this.#parts;
    for (const name of await host.list(folders.pluginVolumes(uid, folder)))
      await operations.measured(measuredAs, 'volume_unmount', () => removeUnmounted(host, folders.volume(uid, folder, name)));
  }

  /** Removes the directory of a pod whose volumes are removed, unless something is still mounted below it. */
  async remove(uid: string): Promise<void> {
    const {host, folders, log} = this.#parts;
    if ((await mountsBelow(host, folders.pod(uid))).length === 0) return host.removeTree(folders.pod(uid));
    log.error({pod: uid}, `orphaned pod ${JSON.stringify(uid)} found, but volume paths are still present on disk`);
  }

  /** Releases what pods that are gone have left outside of their directories. */
  sweep(): void {
    for (const plugin of this.#parts.plugins) plugin.sweep?.();
  }

  /** Returns the uids of pods with a directory. */
  pods(): Promise<readonly string[]> {
    const {host, folders} = this.#parts;
    return host.list(folders.pods);
  }

  #plugins(uid: string): string {
    return join(this.#parts.folders.pod(uid), 'plugins');
  }
}
