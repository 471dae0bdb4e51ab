import type {EventKind} from '#src/scheduler/framework/events.js';
import type {Cluster, Filter, PluginQueueingHint} from '#src/scheduler/framework/plugin.js';

/** Queueing hints of plugins that are not filters. */
const others: readonly Pick<Filter, 'plugin' | 'hints'>[] = [
  {
    plugin: 'SchedulingGates',
    hints: [{on: ['UnschedulablePodUpdatePodSchedulingGatesEliminated'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid}],
  },
  {plugin: 'NoNodes', hints: [{on: ['NodeAdd']}]},
];

/** Indexes queueing hints by the events they handle. */
export const hintsByEvent = (
  plugins: readonly Pick<Filter, 'plugin' | 'hints'>[],
  cluster: Cluster,
): ReadonlyMap<EventKind, readonly PluginQueueingHint[]> => {
  const byEvent = new Map<EventKind, PluginQueueingHint[]>();
  for (const {plugin, hints} of [...plugins, ...others]) {
    for (const {on, shouldQueue} of hints) {
      for (const kind of on) {
        const all = byEvent.get(kind) ?? [];
        byEvent.set(kind, all);
        all.push({plugin, helps: (pod, {old, now}) => shouldQueue?.(pod, old, now, cluster) ?? true});
      }
    }
  }
  return byEvent;
};
