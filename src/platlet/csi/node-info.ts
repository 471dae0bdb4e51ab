// What the Node and the CSINode show of the drivers of a node, as pure functions.

import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';

export type CsiNode = ObjectOf<typeof kinds.csiNodes>;
export type CsiNodeDriver = NonNullable<CsiNode['spec']['drivers']>[number];

/** What a driver says of its node. */
export interface DriverNodeInfo {
  readonly driver: string;
  readonly nodeId: string;
  /** The number of volumes that the node can have; 0: any. */
  readonly maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
}

/** The highest number of volumes that a CSINode can show. */
const maxCount = 2 ** 31 - 1;

const sameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every(each => other.includes(each));

/** Returns the drivers of a CSINode with a driver added or changed; undefined if it is there as it is. */
export const withDriver = (
  drivers: readonly Frozen<CsiNodeDriver>[],
  {driver, nodeId, maxVolumes, topology}: DriverNodeInfo,
): readonly Frozen<CsiNodeDriver>[] | undefined => {
  const topologyKeys = Object.keys(topology).sort();
  const count = maxVolumes > 0 ? Math.min(maxVolumes, maxCount) : undefined;
  const found = drivers.find(({name}) => name === driver);
  const isSame =
    found?.nodeID === nodeId && sameSet([...new Set(found.topologyKeys ?? [])], topologyKeys) && found.allocatable?.count === count;
  if (isSame) return undefined;
  return [
    ...drivers.filter(({name}) => name !== driver),
    {name: driver, nodeID: nodeId, topologyKeys, ...(count === undefined ? {} : {allocatable: {count}})},
  ];
};

/** Returns the drivers of a CSINode without one; undefined if it is not there. */
export const withoutDriver = (drivers: readonly Frozen<CsiNodeDriver>[], driver: string): readonly Frozen<CsiNodeDriver>[] | undefined =>
  drivers.some(({name}) => name === driver) ? drivers.filter(({name}) => name !== driver) : undefined;

/** Whether a CSINode belongs to a Node: one of the same name may have been replaced. */
export const isOwnedBy = ({metadata}: Frozen<CsiNode>, node: Frozen<Node>): boolean =>
  metadata?.ownerReferences?.some(({kind, name, uid}) => kind === 'Node' && name === node.metadata?.name && uid === node.metadata?.uid) ??
  false;

/** The ids of a node by driver, as the annotation of the Node has them. Throws if it is malformed. */
const idsOf = (key: string, text: string): Record<string, string> => {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch (error) {
    throw new Error(`failed to parse node's ${JSON.stringify(key)} annotation value (${JSON.stringify(text)})`, {cause: error});
  }
};

const sorted = (ids: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(ids).sort(([a], [b]) => (a < b ? -1 : 1))));

/** A change of the metadata of a Node; `null` removes an annotation. */
export interface NodeMetadataPatch {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/**
 * Returns the change of a Node for a driver; undefined if there is none. Throws if the node already is in another
 * topology than the driver says.
 */
export const installedIn = (key: string, {metadata}: Frozen<Node>, info: DriverNodeInfo): NodeMetadataPatch | undefined => {
  const {driver, nodeId, topology} = info;
  const before = metadata?.annotations?.[key];
  const ids = before ? idsOf(key, before) : {};
  const entries = Object.entries(topology);
  for (const [name, value] of entries) {
    const current = metadata?.labels?.[name];
    if (current === undefined || current === value) continue;
    const [reported, existing] = [value, current].map(each => `${JSON.stringify(name)}:${JSON.stringify(each)}`);
    throw new Error(`detected topology value collision: driver reported ${reported} but existing label is ${existing}`);
  }
  const hasId = ids[driver] === nodeId;
  const hasTopology = entries.every(([name]) => metadata?.labels?.[name] !== undefined);
  if (hasId && hasTopology) return undefined;
  return {
    ...(hasTopology ? {} : {labels: topology}),
    ...(hasId ? {} : {annotations: {[key]: sorted({...ids, [driver]: nodeId})}}),
  };
};

/** Returns the change of a Node whose driver is gone; undefined if there is none. Topology labels stay. */
export const uninstalledIn = (key: string, {metadata}: Frozen<Node>, driver: string): NodeMetadataPatch | undefined => {
  const before = metadata?.annotations?.[key];
  if (!before) return undefined;
  const {[driver]: own, ...others} = idsOf(key, before);
  if (own === undefined) return undefined;
  return {annotations: {[key]: Object.keys(others).length === 0 ? null : sorted(others)}};
};
