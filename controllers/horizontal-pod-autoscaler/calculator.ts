import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isReady} from '#src/model/pod/state.js';
import {clampReplicas, maxMilli, sumOf} from './amounts.js';
import {groupPods, type ReadinessDelays, type Samples} from './samples.js';

/** How far the usage ratio may be from 1 without scaling. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** The input of a calculation, besides its samples. */
export interface CalculationInput {
  readonly pods: readonly Frozen<Pod>[];
  /** The requested replicas. */
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly delays: ReadinessDelays;
  readonly now: number;
}

/** The proposed replicas, and the average measured usage per pod, in thousandths. */
export interface ReplicaProposal {
  readonly replicas: number;
  readonly average: bigint;
  /** The usage as a percentage of the requests. */
  readonly utilization?: number;
}

/** The ratio of usage to target. */
interface UsageRatio {
  readonly ratio: number;
  readonly average: bigint;
  readonly utilization?: number;
}
type Values = ReadonlyMap<string, bigint>;

/** A target, and the usage to assume for pods without a sample when scaling down. */
export interface UsageTarget {
  readonly resource: string;
  ratioOf(values: Values): UsageRatio;
  defaultUsage(pod: string): bigint;
}

const isWithin = (ratio: number, {up, down}: Tolerances): boolean => 1 - down <= ratio && ratio <= 1 + up;

const average = (values: Values): bigint => sumOf(values.values()) / BigInt(values.size);

/** A target for the average usage per pod, both in thousandths. */
export const averageValueTarget = (target: bigint, resource = ''): UsageTarget => ({
  resource,
  ratioOf(values) {
    const used = average(values);
    return {ratio: Number(used) / Number(target), average: used};
  },
  defaultUsage: () => target,
});

/** A target for the usage as a percentage of the pods' requests. */
export const utilizationTarget = (target: number, resource: string, requests: ReadonlyMap<string, bigint>): UsageTarget => ({
  resource,
  ratioOf(values) {
    const known = [...values].filter(([pod]) => requests.has(pod));
    const used = sumOf(known.map(([, value]) => value));
    const asked = sumOf(known.map(([pod]) => requests.get(pod)!));
    if (asked === 0n) throw new Error('no metrics returned matched known pods');
    const utilization = Number((used * 100n) / asked);
    return {ratio: utilization / target, average: used / BigInt(known.length), utilization};
  },
  defaultUsage: pod => ((requests.get(pod) ?? 0n) * BigInt(Math.max(100, target))) / 100n,
});

const proposal = (replicas: number, {average: used, utilization}: UsageRatio): ReplicaProposal => ({
  replicas,
  average: used,
  ...(utilization === undefined ? {} : {utilization}),
});

/** Returns the samples of the pods that count. Throws when none is left. */
export const usableSamples = (samples: Samples, {pods, delays, now}: CalculationInput, resource: string) => {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
  const groups = groupPods(pods, samples, resource, delays, now);
  const passed = new Set([...groups.ignored, ...groups.unready]);
  const values = new Map([...samples].filter(([pod]) => !passed.has(pod)).map(([pod, {value}]) => [pod, value]));
  if (values.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return {groups, values};
};

/**
 * Returns the replicas that bring the usage to its target. Pods without samples count conservatively: with the target
 * usage when scaling down, with none when scaling up, as unready pods do. A change that this reverses is not made.
 */
export const replicasForPods = (
  {groups: {ready, unready, missing}, values}: ReturnType<typeof usableSamples>,
  {current, tolerances}: CalculationInput,
  {ratioOf, defaultUsage}: UsageTarget,
): ReplicaProposal => {
  const first = ratioOf(values);
  const {ratio} = first;
  const scalesUpWithUnready = unready.length > 0 && ratio > 1;
  if (!scalesUpWithUnready && missing.length === 0)
    return proposal(isWithin(ratio, tolerances) ? current : clampReplicas(ratio * ready), first);
  const filled = new Map(values);
  if (ratio < 1) for (const pod of missing) filled.set(pod, defaultUsage(pod));
  if (ratio > 1) for (const pod of [...missing, ...unready]) filled.set(pod, 0n);
  const second = ratioOf(filled).ratio;
  if (isWithin(second, tolerances) || (ratio < 1 && second > 1) || (ratio > 1 && second < 1)) return proposal(current, first);
  const replicas = clampReplicas(second * filled.size);
  return proposal((second < 1 && replicas > current) || (second > 1 && replicas < current) ? current : replicas, first);
};

/**
 * Returns the replicas that bring one value to its target, both in thousandths. From 0 replicas the ratio itself is
 * used.
 */
export const replicasForValue = (value: bigint, target: bigint, {pods, current, tolerances}: CalculationInput): number => {
  const ratio = Number(value) / Number(target);
  if (current === 0) return clampReplicas(ratio);
  if (isWithin(ratio, tolerances)) return current;
  if (pods.length === 0) throw new Error('unable to calculate ready pods: no pods returned by selector while calculating replica count');
  return clampReplicas(ratio * pods.filter(pod => pod.status?.phase === 'Running' && isReady(pod)).length);
};

/**
 * Returns the replicas that bring the average of one value per replica to its target, all in thousandths. `running`:
 * the current replicas.
 */
export const replicasForAverage = (value: bigint, target: bigint, running: number, tolerances: Tolerances): ReplicaProposal => {
  const ratio = Number(value) / (Number(target) * running);
  const replicas = isWithin(ratio, tolerances) ? running : clampReplicas(Number(value) / Number(target));
  const part = running === 0 || value === maxMilli ? value : (value + BigInt(running) - 1n) / BigInt(running);
  return {replicas, average: part};
};
