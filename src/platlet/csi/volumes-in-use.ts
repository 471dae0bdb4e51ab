// The volumes of CSI drivers that a node has, and the pods that use them. One operation at a time works on a volume.

import {join} from 'node:path';
import {exponential} from '#src/base/backoff.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import {blockFolder, type CsiPaths} from './paths.js';
import type {Staging} from './staging.js';
import type {CsiVolume} from './volume.js';
import {loadVolumeData, type VolumeData} from './volume-data.js';

export interface VolumesInUseParts {
  readonly host: Host;
  readonly folders: Pick<NodeFolders, 'pods'>;
  readonly paths: CsiPaths;
  readonly staging: Pick<Staging, 'unstage' | 'unstageBlock'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called when a volume is no longer on the node. */
  removed(handle: string): void;
}

/** A volume of the node. */
export interface NodeVolume {
  readonly driver: string;
  readonly handle: string;
  readonly specName: string;
  readonly isBlock: boolean;
  /** The uids of pods that use it or are about to. */
  readonly users: Set<string>;
  /** The uids of pods that it may be published to. */
  readonly published: Set<string>;
  /** Whether it is staged. An agent that starts again stages volumes again. */
  isStaged: boolean;
  /** The SELinux label that it is mounted with, empty for none; undefined if it is not mounted. */
  label: string | undefined;
}

type Identity = Pick<NodeVolume, 'driver' | 'handle' | 'specName' | 'isBlock'>;

interface Entry {
  readonly volume: NodeVolume;
  last: Promise<unknown>;
  failures: number;
  retry: Disposable | undefined;
}

const backoff = exponential(500, 122_000);

const keyOf = ({driver, handle}: Pick<CsiVolume, 'driver' | 'handle'>): string => `${driver}^${handle}`;

/** The persistent volumes that a node uses. */
export class VolumesInUse {
  readonly #parts: VolumesInUseParts;
  readonly #entries = new Map<string, Entry>();
  #loading: Promise<void> | undefined;
  #isLoaded = false;

  constructor(parts: VolumesInUseParts) {
    this.#parts = parts;
  }

  /** Finds the volumes of an earlier process. They count as in use, by the pods that they were published to. */
  load(): Promise<void> {
    return (this.#loading ??= this.#load());
  }

  /** The volumes; undefined before those of an earlier process are known. */
  get all(): readonly NodeVolume[] | undefined {
    return this.#isLoaded ? [...this.#entries.values()].map(({volume}) => volume) : undefined;
  }

  /** Runs an operation of a pod on a volume, which is in use from now on until the pod leaves it. */
  async use<T>(volume: Identity, uid: string, act: (volume: NodeVolume) => Promise<T>): Promise<T> {
    await this.load();
    const entry = this.#entryOf(volume);
    entry.volume.users.add(uid);
    entry.retry?.[Symbol.dispose]();
    entry.retry = undefined;
    return this.#alone(entry, () => act(entry.volume));
  }

  /** Runs an operation on a volume that may not be known any more. */
  async alone<T>(volume: Identity, act: () => Promise<T>): Promise<T> {
    await this.load();
    const entry = this.#entries.get(keyOf(volume));
    return entry ? this.#alone(entry, act) : act();
  }

  /** Returns the block devices that may be published to a pod. */
  async devicesOf(uid: string): Promise<readonly NodeVolume[]> {
    await this.load();
    return (this.all ?? []).filter(({isBlock, published}) => isBlock && published.has(uid));
  }

  /** Called when nothing is published to a pod any more: volumes without users are unstaged. */
  leave(uid: string): void {
    for (const entry of this.#entries.values()) {
      entry.volume.published.delete(uid);
      if (entry.volume.users.delete(uid)) this.#release(entry);
    }
  }

  /** Unstages the volumes that an earlier process has left without users. */
  sweep(): void {
    for (const entry of this.#entries.values()) if (!entry.retry) this.#release(entry);
  }

  #release(entry: Entry): void {
    const {clock, signal} = this.#parts;
    if (entry.volume.users.size > 0 || signal.aborted) return;
    this.#alone(entry, () => withClockHeld(clock, () => this.#unstage(entry))).catch((error: unknown) => clock.unhandled(error));
  }

  async #unstage(entry: Entry): Promise<void> {
    const {staging, clock, log} = this.#parts;
    const {volume} = entry;
    if (volume.users.size > 0 || this.#entries.get(keyOf(volume)) !== entry) return;
    entry.retry?.[Symbol.dispose]();
    entry.retry = undefined;
    try {
      await (volume.isBlock ? staging.unstageBlock(volume) : staging.unstage(volume));
      volume.isStaged = false;
      // A pod may have come to use it meanwhile.
      if (volume.users.size > 0) return;
      this.#entries.delete(keyOf(volume));
      this.#parts.removed(volume.handle);
    } catch (error) {
      log.error({driver: volume.driver, volume: volume.handle, err: error}, 'failed to unstage a volume');
      volume.isStaged = false;
      if (this.#parts.signal.aborted || volume.users.size > 0) return;
      entry.retry = clock.schedule(backoff(entry.failures++), () => {
        entry.retry = undefined;
        this.#release(entry);
      });
    }
  }

  #entryOf({driver, handle, specName, isBlock}: Identity): Entry {
    const key = keyOf({driver, handle});
    const found = this.#entries.get(key);
    if (found) return found;
    const pods = {users: new Set<string>(), published: new Set<string>()};
    const volume = {driver, handle, specName, isBlock, ...pods, isStaged: false, label: undefined};
    const entry: Entry = {volume, last: Promise.resolve(), failures: 0, retry: undefined};
    this.#entries.set(key, entry);
    return entry;
  }

  #alone<T>(entry: Entry, act: () => Promise<T>): Promise<T> {
    const result = entry.last.then(act);
    entry.last = result.catch(() => {});
    return result;
  }

  async #load(): Promise<void> {
    const {log} = this.#parts;
    try {
      await this.#loadPods();
      await this.#loadStaged();
    } catch (error) {
      log.error({err: error}, 'failed to find the volumes of an earlier process');
    }
    this.#isLoaded = true;
  }

  async #loadPods(): Promise<void> {
    const {host, folders, paths} = this.#parts;
    for (const uid of await host.list(folders.pods)) {
      for (const name of await host.list(paths.mounts(uid))) {
        const data = await this.#read(join(paths.mounts(uid), name));
        if (!data || data.volumeLifecycleMode === 'Ephemeral') continue;
        const volume = this.#publishedTo(uid, {...identityOf(data, name), isBlock: false});
        volume.label = data.seLinuxMountContext ?? '';
      }
    }
    for (const name of await host.list(paths.blocks)) {
      const data = await this.#read(paths.blockData(name));
      if (!data) continue;
      for (const uid of await host.list(paths.blockPublishing(name))) this.#publishedTo(uid, {...identityOf(data, name), isBlock: true});
    }
  }

  async #loadStaged(): Promise<void> {
    const {host, paths} = this.#parts;
    for (const driver of await host.list(paths.drivers)) {
      if (driver === blockFolder) continue;
      for (const name of await host.list(join(paths.drivers, driver))) {
        const data = await this.#read(join(paths.drivers, driver, name));
        if (data) this.#entryOf({...identityOf(data, ''), isBlock: false}).volume.label ??= data.seLinuxMountContext ?? '';
      }
    }
    for (const name of await host.list(paths.blocks)) {
      const data = await this.#read(paths.blockData(name));
      if (data) this.#entryOf({...identityOf(data, name), isBlock: true});
    }
  }

  #publishedTo(uid: string, identity: Identity): NodeVolume {
    const {volume} = this.#entryOf(identity);
    volume.users.add(uid);
    volume.published.add(uid);
    return volume;
  }

  /** A file that cannot be read belongs to a volume that no driver can be told about. */
  async #read(folder: string): Promise<VolumeData | undefined> {
    const {host, log} = this.#parts;
    try {
      return await loadVolumeData(host, folder);
    } catch (error) {
      log.error({folder, err: error}, 'failed to read the data of a volume');
      return undefined;
    }
  }
}

const identityOf = ({driverName, volumeHandle, specVolID}: VolumeData, name: string): Omit<Identity, 'isBlock'> => ({
  driver: driverName,
  handle: volumeHandle,
  specName: specVolID ?? name,
});
