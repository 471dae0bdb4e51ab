import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';

/** What one pod was measured at, in thousandths, over `windowMs` up to `timestamp` (ms since the epoch). */
export interface Sample {
  readonly value: bigint;
  readonly timestamp: number;
  readonly windowMs: number;
}

/** Samples by the name of the pod. */
export type Samples = ReadonlyMap<string, Sample>;

/** For how long a pod's first samples of CPU say nothing of its later use. */
export interface ReadinessDelays {
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** How many pods have a sample that counts. */
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  /** On their way out: they count for nothing. */
  readonly ignored: readonly string[];
}

/** Whether a sample of CPU is from before the pod did its usual work. */
const isBeforeReadiness = ({status}: Frozen<Pod>, {timestamp, windowMs}: Sample, {cpuInitializationMs, initialReadinessMs}: ReadinessDelays, now: number): boolean => {
  const condition = status?.conditions?.find(({type}) => type === 'Ready');
  const started = parseTime(status?.startTime);
  if (!condition || started === undefined) return true;
  const changedAt = parseTime(condition.lastTransitionTime) ?? 0;
  const isUnready = condition.status === 'False';
  return started + cpuInitializationMs > now ? isUnready || timestamp < changedAt + windowMs : isUnready && started + initialReadinessMs > changedAt;
};

/** Sorts pods by what their samples are worth; only those of CPU depend on whether the pod is ready. */
export const groupPods = (pods: readonly Frozen<Pod>[], samples: Samples, resource: string, delays: ReadinessDelays, now: number): PodGroups => {
  let ready = 0;
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored: string[] = [];
  for (const pod of pods) {
    const name = pod.metadata?.name ?? '';
    const sample = samples.get(name);
    if (pod.metadata?.deletionTimestamp || pod.status?.phase === 'Failed') ignored.push(name);
    else if (pod.status?.phase === 'Pending') unready.push(name);
    else if (!sample) missing.push(name);
    else if (resource === 'cpu' && isBeforeReadiness(pod, sample, delays, now)) unready.push(name);
    else ready++;
  }
  return {ready, unready, missing, ignored};
};
