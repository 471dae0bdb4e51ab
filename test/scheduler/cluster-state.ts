import {Cache as ObjectCache} from '#informers/cache.js';
import type {Lister} from '#informers/lister.js';
import {resolveSelection, type Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {runSteps, stepsOf} from '#src/base/steps.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Cache} from '#src/scheduler/cache/cache.js';
import {NodeMemo} from '#src/scheduler/cache/node-memo.js';
import {podInfoOf, type PodInfo} from '#src/scheduler/cache/pod-info.js';
import {seededRandom} from '#src/base/random.js';
import {Devices} from '#src/scheduler/devices/devices.js';
import {filters} from '#src/scheduler/filters/index.js';
import {findFeasibleNodes, type FilterResult} from '#src/scheduler/framework/fit.js';
import type {EventKind} from '#src/scheduler/framework/events.js';
import type {Cluster, Filter, Score} from '#src/scheduler/framework/plugin.js';
import {VolumeBinder} from '#src/scheduler/volumes/binder.js';

export const plat = naming('plat');

/**
 * The contents of a cluster state: nodes, pods (assigned ones are on their node) and other objects by the name of their
 * kind in code.
 */
export type ClusterObjects = {readonly nodes: readonly Node[]; readonly pods?: readonly Pod[]} & {
  readonly [K in Exclude<keyof typeof kinds, 'nodes' | 'pods'>]?: readonly KubeObject[];
};

let serial = 0;

/** A pod as the scheduler reads it, with a uid of its own. */
export const toPodInfo = (pod: Pod): PodInfo =>
  podInfoOf({...pod, metadata: {uid: `uid-${pod.metadata?.name}-${serial++}`, ...pod.metadata}}, {podLevel: true});

/** A cluster state without a server. */
export const aClusterState = (
  {nodes, pods = [], ...others}: ClusterObjects,
  gates: readonly string[] = ['MatchLabelKeysInPodTopologySpread'],
): Cluster => {
  const cache = new Cache(plat);
  for (const node of nodes) cache.setNode(node);
  for (const pod of pods) if (pod.spec?.nodeName) cache.setPod(toPodInfo(pod), pod.spec.nodeName);
  const listers = new Map<Kind, ObjectCache<KubeObject>>();
  for (const [name, objects] of Object.entries(others)) {
    const lister = new ObjectCache<KubeObject>();
    runSteps(lister.replacing(objects as KubeObject[]));
    listers.set(kinds[name as keyof typeof kinds] as Kind, lister);
  }
  const nothing = new ObjectCache<KubeObject>();
  const lister = <T extends KubeObject>(source: Source<T>) =>
    (listers.get(resolveSelection(source, plat).kind as unknown as Kind) ?? nothing) as unknown as Lister<T>;
  const parts = {
    client: undefined as never,
    naming: plat,
    clock: new VirtualClock(),
    log: noLog,
    random: seededRandom(1),
    events: {normal: () => {}, warning: () => {}},
    gate: (name: string) => gates.includes(name),
    signal: new AbortController().signal,
    lister,
  };
  return {
    naming: plat,
    nodes: cache.nodes,
    node: name => cache.node(name),
    nodesWithImage: name => cache.nodesWithImage(name),
    nodesWithAffinity: cache.nodesWithAffinity,
    nodesWithRequiredAntiAffinity: cache.nodesWithRequiredAntiAffinity,
    memo: new NodeMemo(),
    labelsOf: namespace => lister(kinds.namespaces).get(namespace)?.metadata?.labels,
    volumes: new VolumeBinder(parts),
    devices: new Devices(parts),
    podGroups: undefined,
    clock: parts.clock,
    log: noLog,
    lister,
    gate: parts.gate,
  };
};

/** Filters nodes for a pod. */
export const search = (pod: PodInfo, cluster: Cluster): FilterResult =>
  runSteps(
    findFeasibleNodes(pod, {
      cluster,
      filters,
      nominatedPods: () => [],
      nominatedNode: undefined,
      percentageOfNodesToScore: 0,
      startIndex: 0,
    }),
  );

/** The rejection of each node; empty where the pod fits. One text if all are rejected together. */
export const rejections = (pod: Pod, cluster: Cluster): Record<string, string> | string => {
  const {feasible, diagnosis} = search(toPodInfo(pod), cluster);
  if (diagnosis.preFilterMessage !== undefined) return diagnosis.preFilterMessage;
  return Object.fromEntries([
    ...feasible.map(({name}) => [name, ''] as const),
    ...[...diagnosis.byNode].map(([name, {reasons}]) => [name, reasons.join(', ')] as const),
  ]);
};

/** Whether an event should requeue a pod that a filter rejected, in an empty cluster. */
export const shouldQueue = (
  {hints}: Filter,
  event: EventKind,
  pod: PodInfo,
  old: Frozen<KubeObject> | undefined,
  now: Frozen<KubeObject> | undefined,
): boolean => hints.some(({on, shouldQueue}) => on.includes(event) && (shouldQueue?.(pod, old, now, aClusterState({nodes: []})) ?? true));

/** The scores of each node. */
export const scoresOf = ({prepare}: Score, pod: Pod, cluster: Cluster): Record<string, number> | undefined => {
  const scorer = runSteps(stepsOf(prepare(toPodInfo(pod), cluster.nodes, cluster)));
  if (!scorer) return undefined;
  const scores = cluster.nodes.map(node => scorer.score(node));
  scorer.normalize?.(scores, cluster.nodes);
  return Object.fromEntries(cluster.nodes.map(({name}, at) => [name, scores[at]!]));
};
