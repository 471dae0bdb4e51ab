// Control groups on the host, in all hierarchies of version 1 and in that of version 2.

import {existsSync, readdirSync, rmdirSync} from 'node:fs';
import {join} from 'node:path';

const mountpoint = '/sys/fs/cgroup';

const folders = (path: string): string[] => {
  try {
    return readdirSync(path, {withFileTypes: true}).flatMap(entry => (entry.isDirectory() ? [join(path, entry.name)] : []));
  } catch {
    return [];
  }
};

/** The roots of the hierarchies. */
const hierarchies = (): readonly string[] => (existsSync(join(mountpoint, 'cgroup.controllers')) ? [mountpoint] : folders(mountpoint));

/** Returns a group in each hierarchy that has it, with all below it, children first. */
export const cgroupsAt = (group: string): readonly string[] => {
  const below = (path: string): string[] => [...folders(path).flatMap(below), path];
  return hierarchies().flatMap(root => (existsSync(join(root, group)) ? below(join(root, group)) : []));
};

/** Removes a group with all below it, once its processes have gone. Returns what is left. */
export const removeCgroups = (group: string): readonly string[] => {
  for (const path of cgroupsAt(group)) {
    try {
      rmdirSync(path);
    } catch {
      // Its processes are still ending.
    }
  }
  return cgroupsAt(group);
};
