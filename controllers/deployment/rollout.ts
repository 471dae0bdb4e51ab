import {controlledBy} from '#controllers/shared/children.js';
import {isTerminal} from '#src/model/pod/state.js';
import {ensureNewest} from './newest.js';
import {replicasOf, type ReplicaSet} from './kinds.js';
import {countedIn, isActive, wantedIn} from './replica-sets.js';
import type {Round} from './round.js';
import {scaleTo} from './scaling.js';
import {maxUnavailable, newestSize} from './sizes.js';

const available = ({status}: ReplicaSet): number => status?.availableReplicas ?? 0;

/** Takes pods from the old sets, the oldest first: at most `budget`, and from each as many as `spare` says. Answers how many. */
const takeFrom = async (round: Round, budget: number, spare: (set: ReplicaSet) => number): Promise<number> => {
  let taken = 0;
  for (const set of round.old.filter(isActive)) {
    const count = Math.min(budget - taken, spare(set));
    if (count <= 0) continue;
    await scaleTo(round, set, replicasOf(set) - count);
    taken += count;
  }
  return taken;
};

/** Makes old sets smaller as far as enough pods stay available: first by pods that are not available anyway. */
const shrinkOld = async (round: Round): Promise<boolean> => {
  const {deployment, newest} = round;
  if (wantedIn(round.old) === 0) return false;
  const least = replicasOf(deployment) - maxUnavailable(deployment);
  const missing = newest ? replicasOf(newest) - available(newest) : 0;
  const budget = wantedIn(round.all) - least - missing;
  if (budget <= 0) return false;
  const broken = await takeFrom(round, budget, set => replicasOf(set) - available(set));
  const counted = round.all.filter(set => set === round.newest || isActive(set));
  const surplus = countedIn(counted, 'availableReplicas') - least;
  const sound = await takeFrom(round, surplus, replicasOf);
  return broken + sound > 0;
};

/** One step of a rolling update: the newest set grows, or else the old ones shrink. Tells whether there was one to take. */
export const roll = async (round: Round): Promise<boolean> => {
  await ensureNewest(round);
  const {deployment} = round;
  const newest = round.newest!;
  const wanted = replicasOf(deployment);
  const size = replicasOf(newest) >= wanted ? wanted : newestSize(deployment, round.all, replicasOf(newest));
  return (await scaleTo(round, newest, size)) || (await shrinkOld(round));
};

const hasOldPods = ({old, desk}: Round): boolean =>
  countedIn(old, 'replicas') > 0 || old.some(set => controlledBy(desk.pods, set).some(pod => !isTerminal(pod)));

/** One step of replacing everything at once: the newest set is made when no pod of the old ones is left. Tells whether that is still to come. */
export const replace = async (round: Round): Promise<boolean> => {
  let isShrinking = false;
  for (const set of round.old.filter(isActive)) isShrinking = (await scaleTo(round, set, 0)) || isShrinking;
  if (isShrinking || hasOldPods(round)) return true;
  await ensureNewest(round);
  await scaleTo(round, round.newest!, replicasOf(round.deployment));
  return false;
};
