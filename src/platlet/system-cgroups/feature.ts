import {join} from 'node:path';
import {runEvery} from '#src/base/clock.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {emptyRoot, enterGroup} from './processes.js';

const periodMs = 60_000;

/** Keeps the agent, and the processes of the root cgroup, in the cgroups that flags name. */
export const systemCgroups: AgentFeature = {
  name: 'system cgroups',
  async start({settings, host, cgroups, clock, log, signal}) {
    const {kubeletCgroups: own, systemCgroups: system} = settings;
    const ensure = async (): Promise<void> => {
      try {
        if (own) await enterGroup(host, cgroups, join('/', own), process.pid);
        if (system) await emptyRoot(host, cgroups, join('/', system));
      } catch (error) {
        log.error({err: error}, 'failed to ensure the state of system cgroups');
      }
    };
    if (!own && !system) return;
    await ensure();
    runEvery(clock, periodMs, signal, ensure);
  },
};
