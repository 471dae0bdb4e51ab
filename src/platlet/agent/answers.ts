// The seventh stage of an agent: the handlers of requests about its node and its pods.

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

/** The agent counts as healthy if it has synced its pods within this time, or within twice the sync period. */
const leastLoopMs = 300_000;

/** The results of the earlier stages. */
interface Before {
  readonly host: AgentHost;
  readonly directory: PodDirectory;
  readonly prober: Prober;
  readonly volumes: NodeVolumes;
}

/** Returns the handlers of requests, and registers the metrics of pods in the meter. */
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
