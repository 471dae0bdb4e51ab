import type {Naming} from '#src/api/naming.js';
import type {NodeInfo} from './node-info.js';

/** Returns a node's zone key: its region and zone, by the current labels or by the deprecated ones. */
export const zoneOf = ({labels}: NodeInfo, naming: Naming): string => {
  const label = (name: string) => labels[naming.subKey('topology', name)] ?? labels[naming.subKey('failure-domain.beta', name)] ?? '';
  const [region, zone] = [label('region'), label('zone')];
  return region || zone ? `${region}\0${zone}` : '';
};

/** Orders nodes by taking one of each zone in turn, so that the nodes evaluated first are spread over all zones. */
export const interleaveZones = (nodes: Iterable<NodeInfo>, naming: Naming): NodeInfo[] => {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of nodes) {
    const zone = zoneOf(node, naming);
    const of = zones.get(zone);
    if (of) of.push(node);
    else zones.set(zone, [node]);
  }
  const ordered: NodeInfo[] = [];
  for (let index = 0; ; index++) {
    const before = ordered.length;
    for (const of of zones.values()) if (index < of.length) ordered.push(of[index]!);
    if (ordered.length === before) return ordered;
  }
};
