import type {Pod} from '#src/api/pod.js';
import {reasonsOf, findings} from './evaluate.js';
import {shownLevel, type LevelVersion} from './policy.js';
import type {CheckedPod} from './check.js';

const maxPods = 3000;

/** Puts one pod of each controller first, since its other pods are probably alike. */
const representativesFirst = (pods: readonly Readonly<Pod>[]): Readonly<Pod>[] => {
  const seen = new Set<string>();
  const [first, rest]: [Readonly<Pod>[], Readonly<Pod>[]] = [[], []];
  for (const pod of pods) {
    const owner = pod.metadata?.ownerReferences?.find(({controller}) => controller)?.uid;
    if (owner !== undefined && seen.has(owner)) rest.push(pod);
    else first.push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...rest];
};

/** Warnings about existing pods of a namespace that violate the level. */
export const existingPodWarnings = (
  namespace: string,
  pods: readonly Readonly<Pod>[],
  level: LevelVersion,
  checkedPod: (pod: Readonly<Pod>) => CheckedPod,
  newest: number,
): string[] => {
  const names = new Map<string, string[]>();
  for (const pod of representativesFirst(pods).slice(0, maxPods)) {
    const found = findings(level, checkedPod(pod), newest);
    if (found.length === 0) continue;
    const why = reasonsOf(found);
    names.set(why, [...(names.get(why) ?? []), pod.metadata?.name ?? '']);
  }
  const perReason = [...names].map(([why, [...all]]) => {
    const [first] = all.sort();
    const others = all.length - 1;
    return others === 0 ? `${first}: ${why}` : `${first} (and ${others} other ${others === 1 ? 'pod' : 'pods'}): ${why}`;
  });
  return [
    ...(pods.length > maxPods
      ? [`new PodSecurity enforce level only checked against the first ${maxPods} of ${pods.length} existing pods`]
      : []),
    ...(perReason.length > 0
      ? [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(shownLevel(level))}`,
        ]
      : []),
    ...perReason.sort(),
  ];
};
