// Inputs of the statistics of an agent: volume claims and system cgroups.

import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {groupOfProcess, groupUsage} from '#src/platlet/cgroups/usage.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {podsGroup} from '#src/platlet/cgroups/qos-groups.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host} from '#src/platlet/host/host.js';
import type {ClaimUsage} from '#src/platlet/metrics/observed.js';
import type {SystemGroup} from './node-stats.js';
import type {VolumeUsage} from './volume-stats.js';

/** Returns the usage of claims. A claim shared by several pods is listed once. */
export const claimUsage = (pods: readonly Frozen<Pod>[], volumes: Pick<VolumeUsage, 'of'>): readonly ClaimUsage[] => {
  const found = new Map<string, ClaimUsage>();
  for (const {metadata: {uid = '', namespace = ''} = {}} of pods)
    for (const {claim, ...usage} of volumes.of(uid))
      if (claim !== undefined) found.set(`${namespace}/${claim}`, {...usage, namespace, claim});
  return [...found.values()];
};

interface GroupParts {
  readonly host: Pick<Host, 'read'>;
  readonly settings: Pick<Settings, 'cgroupRoot' | 'cgroupsPerQOS'>;
  readonly naming: Naming;
  readonly runtimeGroup?: string | undefined;
}

/** Returns the cgroups of the agent, of the runtime if known, and of all pods. */
export const systemGroups = (
  {host, settings, naming, runtimeGroup}: GroupParts,
  hierarchy: CgroupHierarchy,
  ofPods: CgroupHierarchy = hierarchy,
): readonly SystemGroup[] => [
  {
    name: naming.agent,
    async read() {
      const group = groupOfProcess(String((await host.read('/proc/self/cgroup')) ?? ''));
      return group === undefined ? undefined : groupUsage(host, hierarchy, group);
    },
  },
  ...(runtimeGroup ? [{name: 'runtime', read: () => groupUsage(host, hierarchy, join('/', runtimeGroup))}] : []),
  {name: 'pods', read: () => groupUsage(host, ofPods, join('/', settings.cgroupRoot, settings.cgroupsPerQOS ? podsGroup : ''))},
];
