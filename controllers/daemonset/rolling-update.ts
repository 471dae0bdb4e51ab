import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {mostSurge, mostUnavailable} from './kinds.js';
import {isServing, pairOf, type PodsByNode, type Round, type Wanted} from './round.js';

/** Old pods to be deleted, so that no more nodes than allowed are without an available pod; new ones are created once they are gone. */
const withoutSurge = (round: Round, pods: PodsByNode, most: number): Wanted => {
  // A node that wants a pod and has none is unavailable too.
  let missing = round.places.filter(({name, shouldRun}) => shouldRun && !pods.has(name)).length;
  const useless: Frozen<Pod>[] = [];
  const candidates: Frozen<Pod>[] = [];
  for (const there of pods.values()) {
    const pair = pairOf(there, round);
    if (!pair || Boolean(pair.fresh) === Boolean(pair.old)) missing++;
    else if (pair.fresh) missing += isServing(pair.fresh, round) ? 0 : 1;
    else if (isServing(pair.old!, round)) candidates.push(pair.old!);
    else {
      useless.push(pair.old!);
      missing++;
    }
  }
  return {create: [], delete: [...useless, ...candidates.slice(0, Math.max(0, most - missing))]};
};

/**
 * New pods to be made beside old ones, on no more nodes than allowed, and old ones to be deleted whose new ones serve. Pods on nodes where the set is not to run
 * any more go only as far as enough others serve.
 */
const withSurge = (round: Round, pods: PodsByNode, most: number, desired: number): Wanted => {
  const runsOn = new Map(round.places.map(({name, shouldRun}) => [name, shouldRun]));
  let surging = 0;
  let serving = 0;
  const gone: Frozen<Pod>[] = [];
  const sunset: Frozen<Pod>[] = [];
  const allowed: string[] = [];
  const candidates: string[] = [];
  for (const [node, there] of pods) {
    const pair = pairOf(there, round);
    if (!pair) {
      surging++;
      continue;
    }
    const {fresh, old} = pair;
    const oneThere = old ?? fresh;
    if (oneThere && isServing(oneThere, round)) serving++;
    if (!old) continue;
    if (fresh) {
      if (isServing(fresh, round)) gone.push(old);
      else surging++;
    } else if (runsOn.get(node)) (isServing(old, round) ? candidates : allowed).push(node);
    // A node that is not there any more takes no pods: differs from upstream, which waits until somebody else has deleted them.
    else (isServing(old, round) ? sunset : gone).push(old);
  }
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, most - surging))],
    delete: [...gone, ...sunset.slice(0, Math.max(0, serving - desired))],
  };
};

/** What is to be done now so that all pods come to be of the template as it is now. */
export const rolledOut = (round: Round, pods: PodsByNode): Wanted => {
  const desired = round.places.filter(({shouldRun}) => shouldRun).length;
  const surge = mostSurge(round.set, desired);
  // With neither nothing would ever move.
  const unavailable = mostUnavailable(round.set, desired) || (surge === 0 ? 1 : 0);
  return surge === 0 ? withoutSurge(round, pods, unavailable) : withSurge(round, pods, surge, desired);
};
