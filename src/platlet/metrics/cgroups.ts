import type {Clock} from '#src/base/clock.js';
import type {PodCgroups} from '#src/platlet/pod/ports.js';
import type {AgentMetrics} from './agent-metrics.js';

/** Returns the cgroups of pods, with the duration of operations observed. */
export const measuredCgroups = (cgroups: PodCgroups, {cgroupDuration}: Pick<AgentMetrics, 'cgroupDuration'>, clock: Clock): PodCgroups => {
  const known = new Set<string>();
  const measured = async <A>(operation_type: 'create' | 'update' | 'destroy', act: () => Promise<A>): Promise<A> => {
    const since = clock.monotonic();
    try {
      return await act();
    } finally {
      cgroupDuration.observe((clock.monotonic() - since) / 1000, {operation_type});
    }
  };
  return {
    hasLimits: cgroups.hasLimits,
    limitsFor: pod => cgroups.limitsFor(pod),
    limitsOf: (pod, container) => cgroups.limitsOf(pod, container),
    memoryOf: (pod, container) => cgroups.memoryOf(pod, container),
    ...(cgroups.read ? {read: (pod, file, container) => cgroups.read!(pod, file, container)} : {}),
    change: (pod, limits) => measured('update', () => cgroups.change(pod, limits)),
    ensure(pod, isRunning) {
      const uid = pod.metadata?.uid ?? '';
      const operation = known.has(uid) ? 'update' : 'create';
      known.add(uid);
      return measured(operation, () => cgroups.ensure(pod, isRunning));
    },
    exists: async pod => (await cgroups.exists?.(pod)) ?? true,
    remove(uid) {
      known.delete(uid);
      return measured('destroy', () => cgroups.remove(uid));
    },
    ...(cgroups.sweep ? {sweep: isKnown => cgroups.sweep!(isKnown)} : {}),
  };
};
