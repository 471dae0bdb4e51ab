import {stepping, type Steps} from '#src/base/steps.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import {isRejection, ruledOut, type Check, type Cluster, type Filter, type PluginName, type Rejection} from './plugin.js';

/** A rejection with the plugin that made it. */
export interface Verdict extends Rejection {
  readonly plugin: PluginName;
}

/** Why a pod fits nowhere. */
export interface Diagnosis {
  /** Nodes that were judged, in the order they were. */
  readonly byNode: Map<string, Verdict>;
  /** What holds for all other nodes, where they were ruled out together. */
  rest: Rejection | undefined;
  /** Set where every node was rejected before one was looked at. */
  beforehand: string | undefined;
  readonly rejectedBy: Set<PluginName>;
}

const blank = (): Diagnosis => ({byNode: new Map(), rest: undefined, beforehand: undefined, rejectedBy: new Set()});

/** The filters made ready for one pod. */
export interface Checks {
  readonly pod: PodInfo;
  readonly checks: readonly {readonly plugin: PluginName; readonly check: Check}[];
  /** The only nodes that can do, where some filter knew. */
  readonly nodes: ReadonlySet<string> | undefined;
  /** A rejection of every node. */
  readonly refused: Verdict | undefined;
  /** The filters that named nodes. */
  readonly naming: readonly PluginName[];
}

const together = (plugins: readonly PluginName[]): string =>
  plugins.length === 1 ? `node(s) didn't satisfy plugin ${plugins[0]}` : `node(s) didn't satisfy plugin(s) [${[...plugins].sort().join(' ')}] simultaneously`;

/** Makes all filters ready. One that rules every node out ends it; after one that merely rejects them all the others are made ready too, since room may be made. */
export const prepareChecks = function* (pod: PodInfo, filters: readonly Filter[], cluster: Cluster): Steps<Checks> {
  const checks: {plugin: PluginName; check: Check}[] = [];
  const naming: PluginName[] = [];
  let nodes: ReadonlySet<string> | undefined;
  let refused: Verdict | undefined;
  for (const {plugin, prepare} of filters) {
    const ready = yield* stepping(prepare(pod, cluster));
    if (!ready) continue;
    if (isRejection(ready)) {
      refused = {...ready, plugin};
      if (ready.unresolvable) break;
      continue;
    }
    checks.push({plugin, check: ready});
    if (!ready.nodes) continue;
    naming.push(plugin);
    const [before, own] = [nodes, ready.nodes];
    nodes = before ? new Set([...before].filter(name => own.has(name))) : own;
    if (nodes.size > 0) continue;
    refused = {...ruledOut(together(naming)), plugin};
    break;
  }
  return {pod, checks, nodes, refused, naming};
};

/** The first objection of a filter to a node. */
export const judgeNode = ({checks}: Checks, node: NodeInfo): Verdict | undefined => {
  for (const {plugin, check} of checks) {
    const rejection = check.judge?.(node);
    if (rejection) return {...rejection, plugin};
  }
  return undefined;
};

/** Puts a pod on a node that is a copy, for every filter to see. */
export const place = ({checks}: Checks, pod: PodInfo, node: NodeInfo): void => {
  node.add(pod);
  for (const {check} of checks) check.add?.(pod, node);
};

/** The reverse of `place`, or takes a pod off that is there. */
export const displace = ({checks}: Checks, pod: PodInfo, node: NodeInfo): void => {
  node.remove(pod.uid);
  for (const {check} of checks) check.remove?.(pod, node);
};

/** The pods promised to a node, if any are. */
export type Promised = (node: string) => Iterable<PodInfo> | undefined;

/**
 * Judges a node as it will be once the pods are there that it is promised to and that matter as much as this one, and as it is now: who comes may
 * never come, and what this pod needs may be there only with them.
 */
export const judgeWithPromised = (checks: Checks, node: NodeInfo, promised: Promised): Verdict | undefined => {
  const {pod} = checks;
  const coming = promised(node.name);
  if (coming) {
    const others = [...coming].filter(other => other.uid !== pod.uid && other.priority >= pod.priority && !node.pods.has(other.uid));
    const crowded = node.copy();
    for (const other of others) place(checks, other, crowded);
    const verdict = judgeNode(checks, crowded);
    for (const other of others) displace(checks, other, crowded);
    if (verdict || others.length === 0) return verdict;
  }
  return judgeNode(checks, node);
};

/** Fewer nodes than that are all looked at. */
const leastToFind = 100;

/** After how many nodes that fit the search may end: a share of the nodes that shrinks as there are more of them, unless a percentage is given. */
export const nodesToFind = (all: number, percentage = 0): number => {
  if (all < leastToFind) return all;
  const share = percentage || Math.max(5, 50 - Math.floor(all / 125));
  return Math.max(leastToFind, Math.floor((all * share) / 100));
};

export interface Search {
  readonly cluster: Cluster;
  readonly filters: readonly Filter[];
  readonly promised: Promised;
  /** The node that the pod is promised. */
  readonly own: string | undefined;
  readonly percentage: number;
  /** Where in the order of nodes to begin. */
  readonly from: number;
}

/** What a search found. `looked` counts the nodes that were looked at. */
export interface Found {
  readonly fitting: readonly NodeInfo[];
  readonly diagnosis: Diagnosis;
  readonly checks: Checks;
  readonly looked: number;
}

/** Finds nodes that a pod fits on: the one it is promised, or as many as it takes to choose well. */
export const findFitting = function* (pod: PodInfo, {cluster, filters, promised, own, percentage, from}: Search): Steps<Found> {
  const checks = yield* prepareChecks(pod, filters, cluster);
  const diagnosis = blank();
  for (const plugin of checks.naming) diagnosis.rejectedBy.add(plugin);
  const found = (fitting: readonly NodeInfo[]): Found => ({fitting, diagnosis, checks, looked: fitting.length + diagnosis.byNode.size});
  if (checks.refused) {
    diagnosis.rest = checks.refused;
    diagnosis.beforehand = checks.refused.reasons.join(', ');
    diagnosis.rejectedBy.add(checks.refused.plugin);
    return found([]);
  }
  const judge = (node: NodeInfo): boolean => {
    const verdict = judgeWithPromised(checks, node, promised);
    if (!verdict) return true;
    diagnosis.byNode.set(node.name, verdict);
    diagnosis.rejectedBy.add(verdict.plugin);
    return false;
  };
  const mine = own ? cluster.node(own) : undefined;
  if (mine && judge(mine)) return found([mine]);

  const {nodes: names} = checks;
  const nodes = names ? [...names].map(name => cluster.node(name)).filter(node => node !== undefined) : cluster.nodes;
  if (names) diagnosis.rest = ruledOut(`node(s) didn't satisfy plugin(s) [${[...checks.naming].sort().join(' ')}]`);
  const wanted = nodesToFind(nodes.length, percentage);
  const fitting: NodeInfo[] = [];
  for (let at = 0; at < nodes.length && fitting.length < wanted; at++) {
    const node = nodes[(from + at) % nodes.length]!;
    if (judge(node)) fitting.push(node);
    yield;
  }
  return found(fitting);
};
