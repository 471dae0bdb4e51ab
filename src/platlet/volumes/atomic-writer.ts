// Writes the files of a volume atomically: containers see them through the symbolic link `..data`, which is replaced in
// one step.

import {dirname, join} from 'node:path';
import {filesBelow} from '#src/platlet/host/files-below.js';
import type {Host} from '#src/platlet/host/host.js';

/** A file of a volume. */
export interface PayloadFile {
  readonly content: Uint8Array;
  readonly mode: number;
  /** The owner; absent: root. */
  readonly uid?: number;
}

/** Files by path in the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>;

const dataLink = '..data';
const nextLink = '..data_tmp';
const folderMode = 0o755;

/** Throws if a path leads out of its volume, or to the files of the writer. */
export const checkPath = (path: string): void => {
  const parts = path.split('/');
  if (path === '') throw new Error('invalid path: must not be empty');
  if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
  if (parts.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`);
  if (path.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`);
};

/** Returns the name of the directory of a version: the time and a number. */
const folderName = (now: number, number: number): string => {
  const date = new Date(now).toISOString();
  return `..${date.slice(0, 10).replaceAll('-', '_')}_${date.slice(11, 19).replaceAll(':', '_')}.${String(number).padStart(9, '0')}`;
};

/** Whether a directory has exactly these files with their modes. */
const isSame = async (host: Host, folder: string, payload: Payload): Promise<boolean> => {
  let files = 0;
  for await (const [path, status] of filesBelow(host, folder)) {
    if (status.kind === 'folder') continue;
    const wanted = payload.get(path.slice(folder.length + 1));
    if (!wanted || status.kind !== 'file' || status.mode !== wanted.mode || status.bytes !== wanted.content.length) return false;
    const content = await host.read(path);
    if (!content || Buffer.compare(content, wanted.content) !== 0) return false;
    files++;
  }
  return files === payload.size;
};

export interface WriteOptions {
  /** A number below 10^9 that distinguishes two versions of one second. */
  readonly number: number;
  readonly now: number;
  /** Called with the directory of the new files before they become visible. */
  prepare?(folder: string): Promise<void>;
}

const dataFolder = async (host: Host, volume: string): Promise<string | undefined> => {
  const link = join(volume, dataLink);
  return (await host.linkStatus(link))?.kind === 'link' ? join(volume, await host.linkTarget(link)) : undefined;
};

/** Makes a volume contain exactly these files. Returns whether anything was written. */
export const writeVolume = async (host: Host, volume: string, payload: Payload, {number, now, prepare}: WriteOptions): Promise<boolean> => {
  for (const path of payload.keys()) checkPath(path);
  const old = await dataFolder(host, volume);
  const changes = !old || !(await isSame(host, old, payload));
  if (changes) {
    const name = folderName(now, number);
    const folder = join(volume, name);
    await host.makeFolder(folder, folderMode);
    for (const [path, {content, mode, uid}] of payload) {
      const file = join(folder, path);
      await host.makeFolder(dirname(file), folderMode);
      await host.writeFile(file, content, mode);
      if (uid !== undefined) await host.changeOwner(file, uid, -1);
    }
    await prepare?.(folder);
    await host.removeFile(join(volume, nextLink));
    await host.link(name, join(volume, nextLink));
    await host.rename(join(volume, nextLink), join(volume, dataLink));
  }
  await linkNames(host, volume, payload);
  if (changes && old) await host.removeTree(old);
  return changes;
};

/** Creates the links visible to containers, and removes those of removed files. */
const linkNames = async (host: Host, volume: string, payload: Payload): Promise<void> => {
  const names = new Set([...payload.keys()].map(path => path.split('/')[0]!));
  for (const name of names) {
    const path = join(volume, name);
    if (!(await host.linkStatus(path))) await host.link(join(dataLink, name), path);
  }
  for (const name of await host.list(volume))
    if (!name.startsWith('..') && !names.has(name) && (await host.linkStatus(join(volume, name)))?.kind === 'link')
      await host.removeFile(join(volume, name));
};
