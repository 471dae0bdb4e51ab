import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isReady} from '#src/model/pod/state.js';
import {allowsSurge, byAge, hashLabel} from './kinds.js';
import {isServing, type Place, type PodsByNode, type Round, type Wanted} from './round.js';

/** What becomes of a pod whose work is over; it is told of by whoever decides. */
export type OnOver = (pod: Frozen<Pod>, node: string) => 'delete' | 'wait';

/** Of several pods on a node where new ones may come before old ones go, those that are too many. */
const surplusOfSurge = (running: readonly Frozen<Pod>[], round: Round): readonly Frozen<Pod>[] => {
  const isNew = ({metadata}: Frozen<Pod>) => metadata?.labels?.[hashLabel] === round.hash;
  const fresh = running.find(isNew);
  const old = running.find(pod => !isNew(pod));
  const others = running.filter(pod => pod !== fresh && pod !== old);
  return fresh && old && (!isReady(old) || isServing(fresh, round)) ? [...others, old] : others;
};

/** What is to be done on one node. */
const wantedAt = ({name, shouldRun, shouldStay}: Place, pods: readonly Frozen<Pod>[] | undefined, round: Round, onOver: OnOver): Wanted => {
  if (shouldRun && !pods) return {create: [name], delete: []};
  const staying = (pods ?? []).filter(({metadata}) => !metadata?.deletionTimestamp);
  if (!shouldStay) return {create: [], delete: staying};
  const isOver = ({status}: Frozen<Pod>) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
  const over = staying.filter(pod => isOver(pod) && onOver(pod, name) === 'delete');
  const running = staying.filter(pod => !isOver(pod)).sort(byAge);
  if (!allowsSurge(round.set)) return {create: [], delete: [...over, ...running.slice(1)]};
  if (running.length > 1) return {create: [], delete: [...over, ...surplusOfSurge(running, round)]};
  return {create: running.length === 0 && shouldRun ? [name] : [], delete: over};
};

/** What is to be done so that each node has the pods it should have, whatever their template. */
export const wantedOf = (round: Round, pods: PodsByNode, onOver: OnOver): Wanted => {
  const wanted = round.places.map(place => wantedAt(place, pods.get(place.name), round, onOver));
  const known = new Set(round.places.map(({name}) => name));
  // Nobody else deletes pods that wait for a node that is gone.
  const waiting = [...pods].filter(([node]) => !known.has(node)).flatMap(([, there]) => there.filter(({spec}) => !spec?.nodeName));
  return {create: wanted.flatMap(({create}) => create), delete: [...wanted.flatMap(each => each.delete), ...waiting]};
};
