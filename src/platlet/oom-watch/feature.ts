import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {watchOom} from './watch.js';

/** Records an event when the kernel kills a process because the system is out of memory. */
export const oomWatch: AgentFeature = {
  name: 'OOM watcher',
  start: ({host, clock, log, events, node, signal}) => watchOom({host, clock, log, events, node, signal}),
};
