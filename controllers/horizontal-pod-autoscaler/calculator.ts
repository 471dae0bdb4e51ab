import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isReady} from '#src/model/pod/state.js';
import {clampReplicas, maxMilli, sumOf} from './amounts.js';
import {groupPods, type ReadinessDelays, type Samples} from './samples.js';

/** How far from 1 the ratio of what is to what should be may lie without anything being scaled. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** What a calculation goes out from besides its samples. */
export interface CalculationInput {
  readonly pods: readonly Frozen<Pod>[];
  /** How many replicas are asked for now. */
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly delays: ReadinessDelays;
  readonly now: number;
}

/** How many replicas a measurement asks for, and what was measured on average of a pod, in thousandths. */
export interface ReplicaProposal {
  readonly replicas: number;
  readonly average: bigint;
  /** The share of what was asked for that was used, in percent. */
  readonly utilization?: number;
}

/** What a set of samples comes to. */
interface UsageRatio {
  readonly ratio: number;
  readonly average: bigint;
  readonly utilization?: number;
}
type Values = ReadonlyMap<string, bigint>;

/** A way to weigh samples, and what a pod without one is taken to use when there shall be fewer. */
export interface UsageTarget {
  readonly resource: string;
  ratioOf(values: Values): UsageRatio;
  defaultUsage(pod: string): bigint;
}

const isWithin = (ratio: number, {up, down}: Tolerances): boolean => 1 - down <= ratio && ratio <= 1 + up;

const average = (values: Values): bigint => sumOf(values.values()) / BigInt(values.size);

/** Use against a target for each pod, both in thousandths. */
export const averageValueTarget = (target: bigint, resource = ''): UsageTarget => ({
  resource,
  ratioOf(values) {
    const used = average(values);
    return {ratio: Number(used) / Number(target), average: used};
  },
  defaultUsage: () => target,
});

/** Use as a share of what the pods ask for, against a target in percent. */
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

const proposal = (replicas: number, {average: used, utilization}: UsageRatio): ReplicaProposal => ({replicas, average: used, ...(utilization === undefined ? {} : {utilization})});

/** Samples of pods that count. Throws when none is left. */
export const usableSamples = (samples: Samples, {pods, delays, now}: CalculationInput, resource: string) => {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
  const groups = groupPods(pods, samples, resource, delays, now);
  const passed = new Set([...groups.ignored, ...groups.unready]);
  const values = new Map([...samples].filter(([pod]) => !passed.has(pod)).map(([pod, {value}]) => [pod, value]));
  if (values.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return {groups, values};
};

/**
 * How many replicas bring the samples of pods to their target. Pods without samples are taken to use what holds the change back: the target
 * when there would be fewer, nothing when there would be more, as pods that are not ready are. A change that they turn around is not made.
 */
export const replicasForPods = ({groups: {ready, unready, missing}, values}: ReturnType<typeof usableSamples>, {current, tolerances}: CalculationInput, {ratioOf, defaultUsage}: UsageTarget): ReplicaProposal => {
  const first = ratioOf(values);
  const {ratio} = first;
  const scalesUpWithUnready = unready.length > 0 && ratio > 1;
  if (!scalesUpWithUnready && missing.length === 0) return proposal(isWithin(ratio, tolerances) ? current : clampReplicas(ratio * ready), first);
  const filled = new Map(values);
  if (ratio < 1) for (const pod of missing) filled.set(pod, defaultUsage(pod));
  if (ratio > 1) for (const pod of [...missing, ...unready]) filled.set(pod, 0n);
  const second = ratioOf(filled).ratio;
  if (isWithin(second, tolerances) || (ratio < 1 && second > 1) || (ratio > 1 && second < 1)) return proposal(current, first);
  const replicas = clampReplicas(second * filled.size);
  return proposal((second < 1 && replicas > current) || (second > 1 && replicas < current) ? current : replicas, first);
};

/** How many replicas bring one value to its target, both in thousandths. From none it takes as many as the value is of the target. */
export const replicasForValue = (value: bigint, target: bigint, {pods, current, tolerances}: CalculationInput): number => {
  const ratio = Number(value) / Number(target);
  if (current === 0) return clampReplicas(ratio);
  if (isWithin(ratio, tolerances)) return current;
  if (pods.length === 0) throw new Error('unable to calculate ready pods: no pods returned by selector while calculating replica count');
  return clampReplicas(ratio * pods.filter(pod => pod.status?.phase === 'Running' && isReady(pod)).length);
};

/** How many replicas bring the part of each in one value to a target, all in thousandths. `running`: how many there are. */
export const replicasForAverage = (value: bigint, target: bigint, running: number, tolerances: Tolerances): ReplicaProposal => {
  const ratio = Number(value) / (Number(target) * running);
  const replicas = isWithin(ratio, tolerances) ? running : clampReplicas(Number(value) / Number(target));
  const part = running === 0 || value === maxMilli ? value : (value + BigInt(running) - 1n) / BigInt(running);
  return {replicas, average: part};
};
