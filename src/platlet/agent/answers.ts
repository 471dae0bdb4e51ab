// The eighth stage of an agent: the handlers of requests about its node and its pods.

import type {NodeAgent} from '#src/api/node/agent.js';
import {openBlocks} from '#src/base/files/block-reader.js';
import {writtenSettings} from '#src/platlet/config/settings.js';
import type {Prober} from '#src/platlet/prober/prober.js';
import {nodeAgent} from '#src/platlet/server/node-agent.js';
import type {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
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
  readonly stats: Pick<NodeStatsReader, 'read'>;
}

/** Returns the handlers of requests. */
export const answersOf = (
  {settings, gate, clock, log, files, runtime}: AgentParts,
  {host, directory, prober, stats}: Before,
): NodeAgent => {
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
    ...(gate('ContainerCheckpoint') ? {checkpoints: host.folders.checkpoints} : {}),
    zoneMinutes: at => -new Date(at).getTimezoneOffset(),
    configuration: () => writtenSettings(settings),
    healthProblem: () => (directory.runtime.silentMs > maxSilentMs ? 'sync Loop took longer than expected' : undefined),
  });
};
