// Volumes of type emptyDir: on disk, in memory, or in huge pages.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import {podLimits} from '#src/model/pod/requests.js';
import {bytesOf} from '#src/platlet/cgroups/numbers.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, type Host} from '#src/platlet/host/host.js';
import type {VolumePlugin} from './plugin.js';

export interface EmptyFolderParts {
  readonly host: Host;
  readonly folders: NodeFolders;
  /** The allocatable memory of pods, in bytes. */
  allocatableMemory(): number;
  /** Whether swap is enabled and the kernel can exclude a tmpfs from it. */
  readonly excludesSwap: boolean;
}

export interface EmptyFolder {
  readonly uid: string;
  readonly plugin: string;
  readonly name: string;
  readonly mode: number;
  /** Called with its path before the volume counts as ready. */
  prepare?(path: string): Promise<void>;
  /** The mount of the volume; undefined: it is on disk. */
  readonly mount?: {readonly type: 'tmpfs' | 'hugetlbfs'; readonly options: readonly string[]};
}

const stateMode = 0o750;

/** Creates an empty directory, once: existing content is kept. Returns its path. */
export const makeEmptyFolder = async (
  {host, folders}: Pick<EmptyFolderParts, 'host' | 'folders'>,
  {uid, plugin, name, mode, mount, prepare}: EmptyFolder,
): Promise<string> => {
  const path = folders.volume(uid, plugin, name);
  const state = folders.pluginState(uid, plugin, name);
  const ready = join(state, 'ready');
  const isMounted = (await mountsBelow(host, path)).some(each => each.path === path);
  if ((await host.status(ready)) && (await host.status(path)) && isMounted === (mount !== undefined)) return path;
  await host.makeFolder(path, mode);
  if (mount && !isMounted) await host.mount({type: mount.type, source: mount.type, target: path, options: mount.options});
  await host.changeMode(path, mode);
  await prepare?.(path);
  await host.makeFolder(state, stateMode);
  await host.writeFile(ready, '', 0o640);
  return path;
};

/**
 * Returns the size of a volume in memory: at most the memory limit of its pod and the node's allocatable memory. 0: no
 * known limit.
 */
export const memoryVolumeBytes = (pod: Frozen<Pod>, sizeLimit: string | undefined, allocatable: number): number => {
  const containers = pod.spec?.containers ?? [];
  const own = podLimits(pod, {podLevel: true}).get('memory');
  const allLimited =
    pod.spec?.resources?.limits?.['memory'] !== undefined || containers.every(({resources}) => bytesOf(resources?.limits?.['memory']) > 0);
  const limits = [allocatable, allLimited && own ? Number(quantityValue(own)) : 0, sizeLimit ? bytesOf(sizeLimit) : 0];
  const known = limits.filter(bytes => bytes > 0);
  return known.length > 0 ? Math.min(...known) : 0;
};

/** Returns the page size of a medium, and the total size of pages that a pod may use. */
const hugePages = (pod: Frozen<Pod>, medium: string): {readonly pageBytes: number; readonly bytes: number} => {
  const limits = podLimits(pod);
  const sizes = [...limits.keys()].filter(name => name.startsWith('hugepages-')).map(name => name.slice('hugepages-'.length));
  const size = medium === 'HugePages' ? sizes[0] : medium.slice('HugePages-'.length);
  if (size === undefined || (medium === 'HugePages' && sizes.length > 1))
    throw new Error(`medium "HugePages" can only be used when the pod requests exactly one page size`);
  const amount = limits.get(`hugepages-${size}`);
  if (!amount) throw new Error(`medium ${JSON.stringify(medium)}: the pod requests no pages of this size`);
  return {pageBytes: bytesOf(parseQuantity(size)), bytes: bytesOf(amount)};
};

const folderMode = 0o777;

/** Volumes of type emptyDir. */
export const emptyDir = (parts: EmptyFolderParts): VolumePlugin => ({
  folder: 'empty-dir',
  measuredAs: 'empty-dir',
  isRefreshed: false,
  supports: ({volume}) => volume.emptyDir !== undefined,
  async setUp({pod, name, volume: {emptyDir: source}, giveToGroup: prepare}) {
    const {medium = '', sizeLimit} = source ?? {};
    const folder = {uid: pod.metadata?.uid ?? '', plugin: 'empty-dir', name, mode: folderMode, prepare};
    if (medium === '') return {path: await makeEmptyFolder(parts, folder), isRelabelled: true};
    if (medium === 'Memory') {
      const bytes = memoryVolumeBytes(pod, sizeLimit, parts.allocatableMemory());
      const options = [...(bytes > 0 ? [`size=${bytes}`] : []), ...(parts.excludesSwap ? ['noswap'] : [])];
      return {path: await makeEmptyFolder(parts, {...folder, mount: {type: 'tmpfs', options}}), isRelabelled: true};
    }
    if (!medium.startsWith('HugePages')) throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
    const {pageBytes, bytes} = hugePages(pod, medium);
    const options = [`pagesize=${pageBytes}`, `size=${bytes}`];
    return {path: await makeEmptyFolder(parts, {...folder, mount: {type: 'hugetlbfs', options}}), isRelabelled: true};
  },
});
