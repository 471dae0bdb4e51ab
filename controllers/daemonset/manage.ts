import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isReady} from '#src/model/pod/state.js';
import {allowsSurge, byAge, hashLabel} from './kinds.js';
import {isServing, type NodePlacement, type PodsByNode, type DaemonSetSync, type PodChanges} from './sync.js';

/** Decides on a terminal pod: delete it now, or wait for the backoff. */
export type OnTerminal = (pod: Frozen<Pod>, node: string) => 'delete' | 'wait';

/** Returns the surplus pods of a node during an update with surge. */
const surplusPods = (running: readonly Frozen<Pod>[], sync: DaemonSetSync): readonly Frozen<Pod>[] => {
  const isNew = ({metadata}: Frozen<Pod>) => metadata?.labels?.[hashLabel] === sync.hash;
  const updated = running.find(isNew);
  const old = running.find(pod => !isNew(pod));
  const others = running.filter(pod => pod !== updated && pod !== old);
  return updated && old && (!isReady(old) || isServing(updated, sync)) ? [...others, old] : others;
};

/** Returns the changes needed on one node. */
const changesForNode = (
  {name, shouldRun, shouldStay}: NodePlacement,
  pods: readonly Frozen<Pod>[] | undefined,
  sync: DaemonSetSync,
  onTerminal: OnTerminal,
): PodChanges => {
  if (shouldRun && !pods) return {create: [name], delete: []};
  const live = (pods ?? []).filter(({metadata}) => !metadata?.deletionTimestamp);
  if (!shouldStay) return {create: [], delete: live};
  const isTerminal = ({status}: Frozen<Pod>) => status?.phase === 'Failed' || status?.phase === 'Succeeded';
  const terminal = live.filter(pod => isTerminal(pod) && onTerminal(pod, name) === 'delete');
  const running = live.filter(pod => !isTerminal(pod)).sort(byAge);
  if (!allowsSurge(sync.set)) return {create: [], delete: [...terminal, ...running.slice(1)]};
  if (running.length > 1) return {create: [], delete: [...terminal, ...surplusPods(running, sync)]};
  return {create: running.length === 0 && shouldRun ? [name] : [], delete: terminal};
};

/** Returns the changes needed so that each node has its pod, of whichever template. */
export const podChangesFor = (sync: DaemonSetSync, pods: PodsByNode, onTerminal: OnTerminal): PodChanges => {
  const desired = sync.placements.map(place => changesForNode(place, pods.get(place.name), sync, onTerminal));
  const known = new Set(sync.placements.map(({name}) => name));
  // No other controller deletes pods that wait for a deleted node.
  const waiting = [...pods].filter(([node]) => !known.has(node)).flatMap(([, nodePods]) => nodePods.filter(({spec}) => !spec?.nodeName));
  return {create: desired.flatMap(({create}) => create), delete: [...desired.flatMap(each => each.delete), ...waiting]};
};
