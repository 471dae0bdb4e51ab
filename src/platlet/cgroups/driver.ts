// The two ways of naming and managing cgroups: by their folders, or as slices of systemd.

import {join} from 'node:path';

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** Returns the driver that the agent uses. What the runtime reports takes precedence over the configuration. */
export const driverOf = (reported: CgroupDriver | undefined, configured: string): CgroupDriver =>
  reported ?? (configured === 'systemd' ? 'systemd' : 'cgroupfs');

/** How a driver names cgroups in the hierarchies. The agent names them as `/kubepods/burstable/podUID`. */
export interface GroupNames {
  /** Returns the path of a cgroup in the hierarchies. */
  pathOf(group: string): string;
  /** Returns the name of a container's cgroup in that of its pod. */
  containerIn(group: string, id: string): string;
  /** Returns the last part of the agent's name of a cgroup, from the name of its folder. */
  nameOf(folder: string): string;
}

/** Cgroups are folders. */
export const plainNames: GroupNames = {pathOf: group => group, containerIn: join, nameOf: folder => folder};

const slice = '.slice';
const scope = '.scope';
/** The prefix of the scopes of containers by the runtime that has one of its own. */
const scopePrefix = 'cri-containerd-';

const escaped = (part: string): string => part.replaceAll('-', '_');

const partsOf = (group: string): readonly string[] => group.split('/').filter(Boolean);

/** Returns the name of the slice of a cgroup; `-.slice` for the root. */
export const sliceOf = (group: string): string => `${partsOf(group).map(escaped).join('-') || '-'}${slice}`;

/**
 * Cgroups are slices of systemd, whose names have those of all their parents:
 * `/kubepods.slice/kubepods-burstable.slice`. Containers have scopes, which the runtime creates.
 */
export const sliceNames: GroupNames = {
  pathOf(group) {
    const parts = partsOf(group);
    const own = parts.at(-1)?.endsWith(scope) ? parts.slice(0, -1) : parts;
    const slices = own.map((_, index) => sliceOf(own.slice(0, index + 1).join('/')));
    return `/${[...slices, ...parts.slice(own.length)].join('/')}`;
  },
  containerIn: (group, id) => join(group, id === '' ? '' : `${scopePrefix}${id}${scope}`),
  nameOf: folder => (folder.endsWith(slice) ? folder.slice(0, -slice.length) : folder).replace(/^.*-/, '').replaceAll('_', '-'),
};
