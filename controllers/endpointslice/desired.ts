import {portsText, type Endpoint, type SlicePort} from '#controllers/shared/endpoints/endpoint-slices.js';
import {
  familyOf,
  hostnameWithin,
  readAddress,
  referenceTo,
  targetPorts,
  type AddressFamily,
} from '#controllers/shared/endpoints/pod-endpoints.js';
import {hasFixedPorts, type Service} from '#controllers/shared/endpoints/services.js';
import type {Frozen} from '#src/api/key.js';
import {mapInSteps, type Steps} from '#src/base/steps.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {isReady} from '#src/model/pod/state.js';

/** Returns the address types of a service's slices. Without ipFamilies, a headless service may have both. */
export const addressTypesOf = ({spec}: Frozen<Service>): readonly AddressFamily[] => {
  const {ipFamilies = [], clusterIP} = spec ?? {};
  if (ipFamilies.length > 0) return ipFamilies as readonly AddressFamily[];
  if (clusterIP && clusterIP !== 'None') return [familyOf(clusterIP) ?? 'IPv4'];
  return ['IPv4', 'IPv6'];
};

/** Returns the service's ports resolved for a pod. Named ports that no container has are left out. */
const portsFor = function* ({spec}: Frozen<Service>, pod: Frozen<Pod>): Steps<SlicePort[]> {
  const targetPort = targetPorts(pod);
  const found = yield* mapInSteps(spec?.ports ?? [], (each): SlicePort | undefined => {
    const port = targetPort(each);
    if (port === undefined) return undefined;
    const {name = '', protocol = 'TCP', appProtocol} = each;
    return {name, port, protocol, ...(appProtocol === undefined ? {} : {appProtocol})};
  });
  return found.filter(port => port !== undefined);
};

/**
 * Returns the endpoint of a pod; undefined if it has no address of the family. A terminating pod is serving while it is
 * ready, but not ready, unless the service publishes not ready addresses.
 */
export const endpointFor = (
  service: Frozen<Service>,
  pod: Frozen<Pod>,
  node: Frozen<Node> | undefined,
  {family, zoneLabel}: {readonly family: AddressFamily; readonly zoneLabel: string},
): Endpoint | undefined => {
  const addresses = (pod.status?.podIPs ?? []).filter(({ip}) => familyOf(ip) === family).map(({ip}) => readAddress(ip));
  if (addresses.length === 0) return undefined;
  const [serving, terminating] = [isReady(pod), pod.metadata?.deletionTimestamp !== undefined];
  const {nodeName} = pod.spec ?? {};
  const zone = node?.metadata?.labels?.[zoneLabel];
  const hostname = hostnameWithin(service, pod);
  return {
    addresses: addresses.map(address => address!.text),
    conditions: {ready: service.spec?.publishNotReadyAddresses === true || (serving && !terminating), serving, terminating},
    ...(hostname ? {hostname} : {}),
    targetRef: referenceTo(pod),
    ...(nodeName ? {nodeName} : {}),
    ...(zone ? {zone} : {}),
  };
};

/** The endpoints that share a set of ports, by key. */
export interface PortGroup {
  readonly ports: SlicePort[];
  readonly wanted: Map<string, Endpoint>;
}

/** Groups pods by their resolved ports; computed once if no port is named. */
export const portGroups = (service: Frozen<Service>) => {
  const groups = new Map<string, PortGroup>();
  let fixed: boolean | undefined;
  let shared: PortGroup | undefined;
  const find = function* (pod: Frozen<Pod>): Steps<PortGroup> {
    const ports = yield* portsFor(service, pod);
    const text = yield* portsText(ports);
    let group = groups.get(text);
    if (!group) groups.set(text, (group = {ports, wanted: new Map()}));
    return group;
  };
  return {
    groups: groups as ReadonlyMap<string, PortGroup>,
    /** Returns the group of a pod, creating it if necessary. */
    *of(pod: Frozen<Pod>): Steps<PortGroup> {
      fixed ??= yield* hasFixedPorts(service);
      return fixed ? (shared ??= yield* find(pod)) : yield* find(pod);
    },
  };
};
