// On which file systems a node has its pods, their containers and their images, and what follows from that.

import type {Signal} from './signals.js';
import {isHard, type Threshold} from './thresholds.js';

/**
 * `one`: all is on the file system of the agent's folder. `images`: images and what containers write are on another.
 * `split`: images are on another alone.
 */
export type DiskLayout = 'one' | 'images' | 'split';

/** The devices of the file systems of a node. */
export interface DiskDevices {
  readonly agent: number;
  readonly images: number;
  readonly containers: number;
}

export const layoutOf = ({agent, images, containers}: DiskDevices): DiskLayout =>
  images !== containers ? 'split' : images === agent ? 'one' : 'images';

/** What tells the devices of a node's file systems. */
export interface DiskSources {
  device(path: string): Promise<number>;
  /** Returns where the runtime has images and what containers write. */
  filesystems(): Promise<{
    readonly images: readonly {readonly mountpoint: string}[];
    readonly containers: readonly {readonly mountpoint: string}[];
  }>;
}

/** Returns the layout of a node's disks. Rejects if it cannot be found out. */
export const findLayout = async ({device, filesystems}: DiskSources, agentFolder: string): Promise<DiskLayout> => {
  const {
    images: [images],
    containers: [containers],
  } = await filesystems();
  if (!images) throw new Error('imagefs device is not found');
  const [agent, imageDevice, containerDevice] = await Promise.all(
    [agentFolder, images.mountpoint, (containers ?? images).mountpoint].map(device),
  );
  return layoutOf({agent: agent!, images: imageDevice!, containers: containerDevice!});
};

/** What a pod has on disks. */
export type DiskPart = 'logs' | 'volumes' | 'layers';

type FilesystemName = 'nodefs' | 'imagefs' | 'containerfs';

/** What of pods is on each file system. */
const partsOn: Readonly<Record<DiskLayout, Readonly<Record<FilesystemName, readonly DiskPart[]>>>> = {
  one: {nodefs: ['layers', 'logs', 'volumes'], imagefs: ['layers', 'logs', 'volumes'], containerfs: ['layers', 'logs', 'volumes']},
  images: {nodefs: ['logs', 'volumes'], imagefs: ['layers'], containerfs: ['layers']},
  split: {nodefs: ['logs', 'volumes', 'layers'], imagefs: [], containerfs: ['logs', 'volumes', 'layers']},
};

/** What can be removed without ending pods: containers that have ended, and images that nothing uses. */
export type Reclaimable = 'containers' | 'images';

const both: readonly Reclaimable[] = ['containers', 'images'];

const reclaimableOn: Readonly<Record<DiskLayout, Readonly<Record<FilesystemName, readonly Reclaimable[]>>>> = {
  one: {nodefs: both, imagefs: both, containerfs: both},
  images: {nodefs: [], imagefs: both, containerfs: both},
  split: {nodefs: ['containers'], imagefs: ['images'], containerfs: ['containers']},
};

const filesystemOf = (signal: Signal): FilesystemName | undefined => {
  const [name = ''] = signal.split('.');
  return name === 'nodefs' || name === 'imagefs' || name === 'containerfs' ? name : undefined;
};

/** Returns by what pods are ranked where a disk is short; undefined for a signal of no disk. */
export const measuredParts = (layout: DiskLayout, signal: Signal): readonly DiskPart[] | undefined => {
  const name = filesystemOf(signal);
  return name && partsOn[layout][name];
};

/** Returns what is removed before pods are evicted. */
export const reclaimable = (layout: DiskLayout, signal: Signal): readonly Reclaimable[] => {
  const name = filesystemOf(signal);
  return name ? reclaimableOn[layout][name] : [];
};

const suffixes = ['available', 'inodesFree'] as const;

export interface ContainerThresholds {
  readonly thresholds: readonly Threshold[];
  /** What to say about thresholds that were given and do not count. */
  readonly ignored?: string;
}

/** Gives the file system of containers the thresholds of the one that it is on, instead of any of its own. */
export const withContainerThresholds = (given: readonly Threshold[], layout: DiskLayout): ContainerThresholds => {
  const own = given.filter(({signal}) => filesystemOf(signal) === 'containerfs');
  const source = layout === 'images' ? 'imagefs' : 'nodefs';
  const copies = suffixes.flatMap(suffix =>
    given
      .filter(({signal}) => signal === `${source}.${suffix}`)
      .map((threshold): Threshold => ({...threshold, signal: `containerfs.${suffix}`})),
  );
  const last = own.at(-1);
  return {
    thresholds: [...given.filter(threshold => !own.includes(threshold)), ...copies],
    ...(last ? {ignored: `found ${last.signal} for ${isHard(last) ? 'hard' : 'soft'} eviction. ignoring`} : {}),
  };
};
