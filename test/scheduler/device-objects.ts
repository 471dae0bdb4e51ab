import type {NodeAllocation} from '#src/scheduler/devices/reservation.js';
import {aClusterState, search, toPodInfo, type ClusterObjects} from './cluster-state.js';
import {aNode, aPod} from './objects.js';

export const driver = 'driver.example.com';

/** A device; `of` holds further fields. */
export const device = (name: string, of: object = {}): object => ({name, ...of});
export const devices = (...names: readonly string[]): object[] => names.map(name => device(name));

export interface SliceOptions {
  readonly pool?: string;
  readonly generation?: number;
  /** The slices of the pool; 1 by default. */
  readonly count?: number;
  readonly driver?: string;
}

/** A slice of one node; `where` overrides that. Its name is that of the pool and its generation, with a number. */
let serial = 0;
export const slice = (
  where: string | object,
  list: readonly object[],
  {pool = typeof where === 'string' ? where : 'net', generation = 1, count = 1, driver: of = driver}: SliceOptions = {},
): never => {
  const name = `${pool}-${generation}-${String(serial++).padStart(4, '0')}`;
  const place = typeof where === 'string' ? {nodeName: where} : where;
  const content = list.length > 0 ? {devices: list} : {};
  return {
    metadata: {name, uid: name},
    spec: {driver: of, pool: {name: pool, generation, resourceSliceCount: count}, ...place, ...content},
  } as never;
};

const selectors = (texts: readonly string[]) => (texts.length > 0 ? {selectors: texts.map(expression => ({cel: {expression}}))} : {});

export const aClass = (name: string, expressions: readonly string[] = [], more: object = {}): never =>
  ({metadata: {name, uid: name}, spec: {...selectors(expressions), ...more}}) as never;

export interface RequestOptions {
  readonly count?: number | 'All';
  readonly select?: readonly string[];
  readonly class?: string;
  readonly more?: object;
}

const exact = ({count = 1, select = [], class: deviceClassName = 'any', more = {}}: RequestOptions) => ({
  deviceClassName,
  ...(count === 'All' ? {allocationMode: 'All'} : {allocationMode: 'ExactCount', count}),
  ...selectors(select),
  ...more,
});

/** A request for devices. */
export const request = (name: string, of: RequestOptions = {}): object => ({name, exactly: exact(of)});
/** A request with alternatives. */
export const oneOf = (name: string, ...alternatives: readonly (RequestOptions & {readonly name: string})[]): object => ({
  name,
  firstAvailable: alternatives.map(({name: of, ...rest}) => ({name: of, ...exact(rest)})),
});

export const aClaim = (name: string, requests: readonly object[], more: object = {}, status: object = {}): never =>
  ({
    metadata: {name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1'},
    spec: {devices: {requests, ...more}},
    status,
  }) as never;

/** The status of a claim that has these devices. */
export const allocated = (...results: readonly (string | object)[]): object => ({
  allocation: {
    devices: {
      results: results.map(each => ({request: 'r', driver, pool: 'a', ...(typeof each === 'string' ? {device: each} : each)})),
    },
  },
});

export interface DeviceCase {
  readonly gates?: readonly string[];
  readonly slices?: readonly never[];
  readonly classes?: readonly never[];
  /** The claims of the pod. */
  readonly claims: readonly never[];
  /** Claims of other pods. */
  readonly others?: readonly never[];
  readonly rules?: readonly never[];
  /** The labels of each node; `a` and `b` without labels by default. */
  readonly nodes?: Readonly<Record<string, Record<string, string>>>;
}

const usual = ['DRAAdminAccess', 'DRAPrioritizedList', 'DRAResourceClaimDeviceStatus', 'DRASchedulerFilterTimeout'];

/** Schedules a pod with claims. Returns the search, and what was found for each node. */
export const scheduled = async ({
  gates = [],
  slices = [],
  classes = [aClass('any')],
  claims,
  others = [],
  rules = [],
  nodes,
}: DeviceCase) => {
  const objects = {
    nodes: Object.entries(nodes ?? {a: {}, b: {}}).map(([name, labels]) => aNode(name, {labels})),
    deviceClasses: classes,
    resourceSlices: slices,
    resourceClaims: [...claims, ...others],
    deviceTaintRules: rules,
  } as unknown as ClusterObjects;
  const cluster = aClusterState(objects, [...usual, ...gates]);
  const resourceClaims = (claims as readonly {metadata: {name: string}}[]).map(({metadata: {name}}) => ({
    name,
    resourceClaimName: name,
  }));
  const pod = toPodInfo(aPod('p', {resourceClaims}));
  await cluster.devices.load(pod);
  const result = search(pod, cluster);
  return {cluster, pod, result, found: (cluster.devices.found.get(pod) ?? new Map()) as ReadonlyMap<string, NodeAllocation | string>};
};

/**
 * Returns the devices of each claim as `request=device`, by node, or why there are none. One text if all nodes are
 * rejected together.
 */
export const allocations = async (of: DeviceCase): Promise<Record<string, string> | string> => {
  const {result, found} = await scheduled(of);
  const {preFilterMessage, byNode} = result.diagnosis;
  if (preFilterMessage !== undefined) return preFilterMessage;
  const text = (node: string): string => {
    const rejected = byNode.get(node);
    if (rejected) return rejected.reasons.join();
    const allocation = found.get(node);
    if (typeof allocation !== 'object') return String(allocation);
    return allocation.granted
      .map(({allocation: {devices: got}}) => (got?.results ?? []).map(({request: of, device: name}) => `${of}=${name}`).join(' '))
      .join('; ');
  };
  return Object.fromEntries(Object.keys(of.nodes ?? {a: {}, b: {}}).map(node => [node, text(node)]));
};
