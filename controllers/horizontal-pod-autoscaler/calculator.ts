import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isReady} from '#src/model/pod/state.js';
import {enough, mostMilli, sumOf} from './amounts.js';
import {groupedPods, type Patience, type Samples} from './readings.js';

/** How far from 1 the ratio of what is to what should be may lie without anything being scaled. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** What a calculation goes out from besides its samples. */
export interface Situation {
  readonly pods: readonly Frozen<Pod>[];
  /** How many replicas are asked for now. */
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly patience: Patience;
  readonly now: number;
}

/** How many replicas a measurement asks for, and what was measured on average of a pod, in thousandths. */
export interface Answer {
  readonly replicas: number;
  readonly average: bigint;
  /** The share of what was asked for that was used, in percent. */
  readonly utilization?: number;
}

/** What a set of samples comes to. */
interface Weighed {
  readonly ratio: number;
  readonly average: bigint;
  readonly utilization?: number;
}
type Values = ReadonlyMap<string, bigint>;

/** A way to weigh samples, and what a pod without one is taken to use when there shall be fewer. */
export interface Measure {
  readonly resource: string;
  weigh(values: Values): Weighed;
  assumed(pod: string): bigint;
}

const isWithin = (ratio: number, {up, down}: Tolerances): boolean => 1 - down <= ratio && ratio <= 1 + up;

const average = (values: Values): bigint => sumOf(values.values()) / BigInt(values.size);

/** Use against a target for each pod, both in thousandths. */
export const byAmount = (target: bigint, resource = ''): Measure => ({
  resource,
  weigh(values) {
    const used = average(values);
    return {ratio: Number(used) / Number(target), average: used};
  },
  assumed: () => target,
});

/** Use as a share of what the pods ask for, against a target in percent. */
export const byShare = (target: number, resource: string, requests: ReadonlyMap<string, bigint>): Measure => ({
  resource,
  weigh(values) {
    const known = [...values].filter(([pod]) => requests.has(pod));
    const used = sumOf(known.map(([, value]) => value));
    const asked = sumOf(known.map(([pod]) => requests.get(pod)!));
    if (asked === 0n) throw new Error('no metrics returned matched known pods');
    const utilization = Number((used * 100n) / asked);
    return {ratio: utilization / target, average: used / BigInt(known.length), utilization};
  },
  assumed: pod => ((requests.get(pod) ?? 0n) * BigInt(Math.max(100, target))) / 100n,
});

const answer = (replicas: number, {average: used, utilization}: Weighed): Answer => ({replicas, average: used, ...(utilization === undefined ? {} : {utilization})});

/** Samples of pods that count. Throws when none is left. */
export const usable = (samples: Samples, {pods, patience, now}: Situation, resource: string) => {
  if (pods.length === 0) throw new Error('no pods returned by selector while calculating replica count');
  const groups = groupedPods(pods, samples, resource, patience, now);
  const passed = new Set([...groups.ignored, ...groups.unready]);
  const values = new Map([...samples].filter(([pod]) => !passed.has(pod)).map(([pod, {value}]) => [pod, value]));
  if (values.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return {groups, values};
};

/**
 * How many replicas bring the samples of pods to their target. Pods without samples are taken to use what holds the change back: the target
 * when there would be fewer, nothing when there would be more, as pods that are not ready are. A change that they turn around is not made.
 */
export const replicasForPods = ({groups: {ready, unready, missing}, values}: ReturnType<typeof usable>, {current, tolerances}: Situation, {weigh, assumed}: Measure): Answer => {
  const first = weigh(values);
  const {ratio} = first;
  const growsUnready = unready.length > 0 && ratio > 1;
  if (!growsUnready && missing.length === 0) return answer(isWithin(ratio, tolerances) ? current : enough(ratio * ready), first);
  const filled = new Map(values);
  if (ratio < 1) for (const pod of missing) filled.set(pod, assumed(pod));
  if (ratio > 1) for (const pod of [...missing, ...unready]) filled.set(pod, 0n);
  const second = weigh(filled).ratio;
  if (isWithin(second, tolerances) || (ratio < 1 && second > 1) || (ratio > 1 && second < 1)) return answer(current, first);
  const replicas = enough(second * filled.size);
  return answer((second < 1 && replicas > current) || (second > 1 && replicas < current) ? current : replicas, first);
};

/** How many replicas bring one value to its target, both in thousandths. From none it takes as many as the value is of the target. */
export const replicasForValue = (value: bigint, target: bigint, {pods, current, tolerances}: Situation): number => {
  const ratio = Number(value) / Number(target);
  if (current === 0) return enough(ratio);
  if (isWithin(ratio, tolerances)) return current;
  if (pods.length === 0) throw new Error('unable to calculate ready pods: no pods returned by selector while calculating replica count');
  return enough(ratio * pods.filter(pod => pod.status?.phase === 'Running' && isReady(pod)).length);
};

/** How many replicas bring the part of each in one value to a target, all in thousandths. `running`: how many there are. */
export const replicasForPart = (value: bigint, target: bigint, running: number, tolerances: Tolerances): Answer => {
  const ratio = Number(value) / (Number(target) * running);
  const replicas = isWithin(ratio, tolerances) ? running : enough(Number(value) / Number(target));
  const part = running === 0 || value === mostMilli ? value : (value + BigInt(running) - 1n) / BigInt(running);
  return {replicas, average: part};
};
