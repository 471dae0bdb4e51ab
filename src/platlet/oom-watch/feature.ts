import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {watchOom} from './watch.js';

/** Records an event when the kernel kills a process because the system is out of memory. */
export const oomWatch: AgentFeature = {
  name: 'OOM watcher',
  start({kernelLog, clock, log, events, node, signal}) {
    if (kernelLog) watchOom({kernelLog, clock, log, events, node, signal});
  },
};
