import type {EventKind} from '#src/scheduler/framework/events.js';
import type {Filter, QueueingHint, PluginName} from '#src/scheduler/framework/plugin.js';

export interface PluginQueueingHint extends Pick<QueueingHint, 'shouldQueue'> {
  readonly plugin: PluginName;
}

/** Queueing hints of plugins that are not filters. */
const others: readonly Pick<Filter, 'plugin' | 'hints'>[] = [
  {
    plugin: 'SchedulingGates',
    hints: [{on: ['UnschedulablePodUpdatePodSchedulingGatesEliminated'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid}],
  },
  {plugin: 'NoNodes', hints: [{on: ['NodeAdd']}]},
];

/** Indexes queueing hints by the events they handle. */
export const hintsByEvent = (filters: readonly Filter[]): ReadonlyMap<EventKind, readonly PluginQueueingHint[]> => {
  const byEvent = new Map<EventKind, PluginQueueingHint[]>();
  for (const {plugin, hints} of [...filters, ...others]) {
    for (const {on, shouldQueue} of hints) {
      for (const kind of on) {
        const all = byEvent.get(kind) ?? [];
        byEvent.set(kind, all);
        all.push({plugin, ...(shouldQueue ? {shouldQueue} : {})});
      }
    }
  }
  return byEvent;
};
