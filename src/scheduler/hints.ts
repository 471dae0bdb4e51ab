import type {EventKind} from './events.js';
import type {Filter, Hint, PluginName} from './plugin.js';

export interface PluginHint extends Pick<Hint, 'helps'> {
  readonly plugin: PluginName;
}

/** Hints of those who are no filters. */
const others: readonly (Pick<Filter, 'plugin' | 'hints'>)[] = [
  {plugin: 'SchedulingGates', hints: [{on: ['UnschedulablePodUpdatePodSchedulingGatesEliminated'], helps: (pod, _, now) => now?.metadata?.uid === pod.uid}]},
  {plugin: 'NoNodes', hints: [{on: ['NodeAdd']}]},
];

/** Whom an event may help. */
export const hintsByEvent = (filters: readonly Filter[]): ReadonlyMap<EventKind, readonly PluginHint[]> => {
  const byEvent = new Map<EventKind, PluginHint[]>();
  for (const {plugin, hints} of [...filters, ...others]) {
    for (const {on, helps} of hints) {
      for (const kind of on) {
        const all = byEvent.get(kind) ?? [];
        byEvent.set(kind, all);
        all.push({plugin, ...(helps ? {helps} : {})});
      }
    }
  }
  return byEvent;
};
