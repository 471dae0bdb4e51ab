import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';

/** The measured value of a pod, in thousandths, over `windowMs` up to `timestamp` (ms since the epoch). */
export interface Sample {
  readonly value: bigint;
  readonly timestamp: number;
  readonly windowMs: number;
}

/** Samples by pod name. */
export type Samples = ReadonlyMap<string, Sample>;

/** For how long a pod's first CPU samples are ignored. */
export interface ReadinessDelays {
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** The number of pods with a usable sample. */
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  /** Terminating or failed pods, which do not count. */
  readonly ignored: readonly string[];
}

/** Whether a CPU sample is from before the pod was initialized. */
const isBeforeReadiness = (
  {status}: Frozen<Pod>,
  {timestamp, windowMs}: Sample,
  {cpuInitializationMs, initialReadinessMs}: ReadinessDelays,
  now: number,
): boolean => {
  const condition = status?.conditions?.find(({type}) => type === 'Ready');
  const started = parseTime(status?.startTime);
  if (!condition || started === undefined) return true;
  const changedAt = parseTime(condition.lastTransitionTime) ?? 0;
  const isUnready = condition.status === 'False';
  return started + cpuInitializationMs > now
    ? isUnready || timestamp < changedAt + windowMs
    : isUnready && started + initialReadinessMs > changedAt;
};

/** Groups pods by the use of their samples; readiness matters only for CPU. */
export const groupPods = (
  pods: readonly Frozen<Pod>[],
  samples: Samples,
  resource: string,
  delays: ReadinessDelays,
  now: number,
): PodGroups => {
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
