// The filter plugins prepared for one pod: run on nodes, with nominated pods and with pods added or removed.

import {stepsOf, type Steps} from '#src/base/steps.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {NodeColumn} from '#src/scheduler/cache/node-memo.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {isRejection, unresolvable, type PreparedFilter, type Cluster, type Filter, type PluginName, type Rejection} from './plugin.js';

/** A rejection with the plugin that made it. */
export interface PluginRejection extends Rejection {
  readonly plugin: PluginName;
}

/** The filters prepared for one pod. */
export interface FilterSet {
  readonly pod: PodInfo;
  readonly filters: readonly {readonly plugin: PluginName; readonly check: PreparedFilter}[];
  /** The only feasible nodes, if some filter restricts them. */
  readonly nodes: ReadonlySet<string> | undefined;
  /** A rejection of every node. */
  readonly rejection: PluginRejection | undefined;
  /** Notes the nodes that all filters accept, with a 1; undefined if that depends on more than the nodes. */
  readonly accepted: NodeColumn | undefined;
  /** The plugins that restricted the nodes. */
  readonly restrictingPlugins: readonly PluginName[];
}

const combinedReason = (plugins: readonly PluginName[]): string =>
  plugins.length === 1
    ? `node(s) didn't satisfy plugin ${plugins[0]}`
    : `node(s) didn't satisfy plugin(s) [${[...plugins].sort().join(' ')}] simultaneously`;

/**
 * Prepares all filters. An unresolvable rejection of every node ends it; after a resolvable one the other filters are
 * prepared too, for preemption.
 */
export const prepareFilters = function* (pod: PodInfo, filters: readonly Filter[], cluster: Cluster): Steps<FilterSet> {
  const checks: {plugin: PluginName; check: PreparedFilter}[] = [];
  const restrictingPlugins: PluginName[] = [];
  let nodes: ReadonlySet<string> | undefined;
  let rejection: PluginRejection | undefined;
  for (const {plugin, prepare} of filters) {
    const ready = yield* stepsOf(prepare(pod, cluster));
    if (!ready) continue;
    if (isRejection(ready)) {
      rejection = {...ready, plugin};
      if (ready.unresolvable) break;
      continue;
    }
    checks.push({plugin, check: ready});
    if (!ready.nodes) continue;
    restrictingPlugins.push(plugin);
    const [before, own] = [nodes, ready.nodes];
    nodes = before ? new Set([...before].filter(name => own.has(name))) : own;
    if (nodes.size > 0) continue;
    rejection = {...unresolvable(combinedReason(restrictingPlugins)), plugin};
    break;
  }
  return {pod, filters: checks, nodes, rejection, accepted: acceptedBy(checks, cluster), restrictingPlugins};
};

/**
 * Returns the nodes that filters are known to accept, where that depends on nothing but the nodes and what the filters
 * state.
 */
const acceptedBy = (checks: FilterSet['filters'], {memo}: Cluster): NodeColumn | undefined => {
  let text = 'filter';
  for (const {plugin, check} of checks) {
    if (check.signature === undefined) return undefined;
    text += ` ${plugin} ${check.signature}`;
  }
  return memo.column(text);
};

/** Returns the first rejection of a node. */
export const runFilters = ({filters, accepted}: FilterSet, node: NodeInfo): PluginRejection | undefined => {
  if (accepted?.get(node)) return undefined;
  for (const {plugin, check} of filters) {
    const rejection = check.filter?.(node);
    if (rejection) return {...rejection, plugin};
  }
  accepted?.set(node, 1);
  return undefined;
};

/** Adds a pod to a copy of a node, and notifies every prepared filter. */
export const addPod = ({filters}: FilterSet, pod: PodInfo, node: NodeInfo): void => {
  node.add(pod);
  for (const {check} of filters) check.add?.(pod, node);
};

/** The reverse of `addPod`; also removes pods that were on the node before. */
export const removePod = ({filters}: FilterSet, pod: PodInfo, node: NodeInfo): void => {
  node.remove(pod.uid);
  for (const {check} of filters) check.remove?.(pod, node);
};

/** Returns the pods nominated to a node, if there are any. */
export type NominatedPods = (node: string) => Iterable<PodInfo> | undefined;

/**
 * Filters a node twice: with the nominated pods of equal or higher priority added, and as it is now. Nominated pods may
 * never arrive, and this pod's affinity may depend on them.
 */
export const runFiltersWithNominatedPods = (
  checks: FilterSet,
  node: NodeInfo,
  nominatedPods: NominatedPods,
): PluginRejection | undefined => {
  const {pod} = checks;
  const nominated = nominatedPods(node.name);
  if (nominated) {
    const others = [...nominated].filter(other => other.uid !== pod.uid && other.priority >= pod.priority && !node.pods.has(other.uid));
    const withNominated = node.copy();
    for (const other of others) addPod(checks, other, withNominated);
    const rejection = runFilters(checks, withNominated);
    for (const other of others) removePod(checks, other, withNominated);
    if (rejection || others.length === 0) return rejection;
  }
  return runFilters(checks, node);
};

/** Runs the filters that take long, for a node that all others accept. */
export const evaluateNode = function* ({filters}: FilterSet, node: NodeInfo): Steps<PluginRejection | undefined> {
  for (const {plugin, check} of filters) {
    const rejection = check.evaluate && (yield* check.evaluate(node));
    if (rejection) return {...rejection, plugin};
  }
  return undefined;
};
