// The seventh stage of an agent: what is measured of its node and pods.

import {claimUsage, systemGroups} from '#src/platlet/stats/agent-stats.js';
import {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import {VolumeUsage} from '#src/platlet/stats/volume-stats.js';
import {observeAgent} from '#src/platlet/metrics/observed.js';
import type {PodCgroups} from '#src/platlet/pod/ports.js';
import type {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {Cluster} from './cluster.js';
import type {AgentHost} from './host.js';
import type {AgentParts} from './parts.js';

/** The values of the stages before. */
interface Before {
  readonly host: AgentHost;
  readonly cluster: Pick<Cluster, 'events'>;
  readonly directory: PodDirectory;
  readonly volumes: NodeVolumes;
  readonly cgroups: Pick<PodCgroups, 'read'>;
}

/** Returns what measures the node, and adds what is measured of pods to the meter. */
export const measurementsOf = (
  parts: AgentParts,
  {host, cluster, directory, volumes, cgroups}: Before,
  signal: AbortSignal,
): NodeStatsReader => {
  const {settings, identity, flags, gate, naming, meter, clock, log, files, runtime} = parts;
  const {folders, hierarchy, podHierarchy} = host;
  const usage = new VolumeUsage({
    clock,
    log,
    host: parts.host,
    periodMs: settings.volumeStatsAggPeriod,
    signal,
    pods: () => directory.shown,
    mounted: uid => volumes.mounted(uid),
    abnormal: (pod, name, message) => cluster.events.warning(pod, 'VolumeConditionAbnormal', `Volume ${name}: ${message}`),
  });
  observeAgent(meter, {
    naming,
    nodeName: identity.nodeName,
    cgroupVersion: hierarchy.version,
    pods: directory,
    claims: () => claimUsage(directory.shown, usage),
    reportsHealth: gate('CSIVolumeHealth'),
  });
  return new NodeStatsReader({
    node: {name: identity.nodeName, machine: identity.machine},
    runtime,
    system: {
      files,
      groups: systemGroups({host: parts.host, settings, naming, runtimeGroup: flags.runtimeGroup}, hierarchy, podHierarchy),
      ofGroup: hierarchy.version === 2 ? cgroups.read : undefined,
      withPressure: hierarchy.version === 2 && gate('PlatletPSI'),
    },
    disks: {host: parts.host, rootDir: flags.rootDir, volumesOf: uid => usage.of(uid), logsOf: pod => folders.logs(pod)},
    pods: directory,
    clock,
    log,
    signal,
  });
};
