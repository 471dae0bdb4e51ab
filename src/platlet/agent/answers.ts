// The seventh stage of an agent: what answers requests about its node and pods.

import type {NodeAgent} from '#src/api/node/agent.js';
import {openBlocks} from '#src/base/files/block-reader.js';
import {writtenSettings} from '#src/platlet/config/settings.js';
import {observeAgent} from '#src/platlet/metrics/observed.js';
import type {Prober} from '#src/platlet/prober/prober.js';
import {nodeAgent} from '#src/platlet/server/node-agent.js';
import {claimUsage, systemGroups} from '#src/platlet/stats/agent-stats.js';
import {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import {VolumeUsage} from '#src/platlet/stats/volume-stats.js';
import type {NodeVolumes} from '#src/platlet/volumes/pod-volumes.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {AgentHost} from './host.js';
import type {AgentParts} from './parts.js';

/** The agent counts as working if it has looked at its pods within this time, or twice the period of syncs. */
const leastLoopMs = 300_000;

/** The values of the stages before. */
interface Before {
  readonly host: AgentHost;
  readonly directory: PodDirectory;
  readonly prober: Prober;
  readonly volumes: NodeVolumes;
}

/** Returns what answers requests, and adds what is measured of pods to the meter. */
export const answersOf = (parts: AgentParts, {host, directory, prober, volumes}: Before, signal: AbortSignal): NodeAgent => {
  const {settings, identity, flags, naming, meter, gate, clock, log, files, runtime} = parts;
  const {folders, hierarchy} = host;
  const usage = new VolumeUsage({
    clock,
    log,
    host: parts.host,
    periodMs: settings.volumeStatsAggPeriod,
    signal,
    pods: () => directory.shown,
    pathsOf: uid => new Map([...volumes.mounted(uid)].map(([name, {path}]) => [name, path])),
  });
  const stats = new NodeStatsReader({
    node: {name: identity.nodeName, machine: identity.machine},
    runtime,
    system: {files, groups: systemGroups({host: parts.host, settings, naming, runtimeGroup: flags.runtimeGroup}, hierarchy)},
    disks: {host: parts.host, rootDir: flags.rootDir, volumesOf: uid => usage.of(uid), logsOf: pod => folders.logs(pod)},
    pods: directory,
    clock,
    log,
    signal,
  });
  observeAgent(meter, {
    naming,
    nodeName: identity.nodeName,
    cgroupVersion: hierarchy.version,
    pods: directory,
    claims: () => claimUsage(directory.shown, usage),
  });
  const maxSilentMs = Math.max(leastLoopMs, 2 * settings.syncFrequency);
  return nodeAgent({
    runtime,
    clock,
    log,
    files,
    open: openBlocks,
    pods: () => directory.shown,
    stats: () => stats.read(),
    probes: () => prober.counts,
    ...(gate('ContainerCheckpoint') ? {checkpoints: folders.checkpoints} : {}),
    configuration: () => writtenSettings(settings),
    healthProblem: () => (directory.runtime.silentMs > maxSilentMs ? 'sync Loop took longer than expected' : undefined),
  });
};
