// The oom_score_adj of containers: which of them the kernel kills first when memory runs out.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container, Pod} from '#src/api/pod.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {bytesOf} from './numbers.js';

/** The oom_score_adj of the agent, and of containers of Guaranteed and BestEffort pods. */
export const oomScores = {agent: -999, guaranteed: -997, bestEffort: 1000} as const;

/** Pods of this priority or higher are node critical. */
const nodeCriticalPriority = 2_000_001_000;

const requestOf = ({resources}: Pick<Frozen<Container>, 'resources'>): number => bytesOf(resources?.requests?.['memory']);

/** Returns what a pod requests beyond the sum of its containers, per container. */
const sharedRequest = ({spec}: Frozen<Pod>): number => {
  const own = spec?.resources?.requests?.['memory'];
  if (own === undefined) return 0;
  const containers = [...spec!.containers, ...(spec!.initContainers ?? []).filter(isSidecar)];
  const rest = bytesOf(own) - containers.reduce((sum, container) => sum + requestOf(container), 0);
  return rest > 0 ? Math.floor(rest / containers.length) : 0;
};

const burstableScore = (request: number, memoryCapacity: number): number => {
  const score = 1000 - Math.floor((1000 * request) / memoryCapacity);
  // Above those of Guaranteed pods, below those of BestEffort ones.
  const least = 1000 + oomScores.guaranteed;
  if (score < least) return least;
  return score === oomScores.bestEffort ? score - 1 : score;
};

/** Returns the oom_score_adj of a container: a higher score is killed earlier. */
export const oomScoreAdj = (pod: Frozen<Pod>, container: Frozen<AnyContainer>, memoryCapacity: number): number => {
  const {priority = 0, containers = []} = pod.spec ?? {};
  if (priority >= nodeCriticalPriority) return oomScores.guaranteed;
  const qos = podQosClass(pod as Pod);
  if (qos === 'Guaranteed') return oomScores.guaranteed;
  if (qos === 'BestEffort') return oomScores.bestEffort;
  const shared = sharedRequest(pod);
  const scoreOf = (of: Pick<Frozen<Container>, 'resources'>): number => burstableScore(requestOf(of) + shared, memoryCapacity);
  const own = scoreOf(container);
  // A sidecar must not be killed before the containers that it serves.
  const isOfSidecar = pod.spec?.initContainers?.some(each => each.name === container.name && isSidecar(each));
  return isOfSidecar ? Math.min(own, ...containers.map(scoreOf)) : own;
};
