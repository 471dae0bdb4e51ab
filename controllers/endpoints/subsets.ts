// Builds the subsets of an Endpoints object from the pods of a service, in canonical order, so that equal subsets have
// equal text.

import {
  familyOf,
  hostnameWithin,
  isEndpoint,
  referenceTo,
  targetPorts,
  withoutVersion,
  type AddressFamily,
} from '#controllers/shared/endpoints/pod-endpoints.js';
import {hasFixedPorts, type Service} from '#controllers/shared/endpoints/services.js';
import {sameJson, sameInSteps} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {sortedByInSteps} from '#src/base/sort-steps.js';
import {mapInSteps, type Steps} from '#src/base/steps.js';
import {isReady} from '#src/model/pod/state.js';

export type Endpoints = ObjectOf<typeof kinds.endpoints>;
export type Subset = NonNullable<Endpoints['subsets']>[number];
export type Address = NonNullable<Subset['addresses']>[number];
export type Port = NonNullable<Subset['ports']>[number];

/** One address, with a port or without ports. */
export interface EndpointAddress {
  readonly address: Address;
  readonly ready: boolean;
  readonly port: Port | undefined;
}

/**
 * Returns the single address family of the object: the service's first one, else that of its cluster IP, or of the pod.
 */
const familyFor = ({spec}: Frozen<Service>, pod: Frozen<Pod>): AddressFamily => {
  const [family] = spec?.ipFamilies ?? [];
  if (family) return family as AddressFamily;
  const own = spec?.clusterIP && spec.clusterIP !== 'None' ? spec.clusterIP : pod.status?.podIP;
  return familyOf(own ?? '') ?? 'IPv4';
};

const addressFor = (service: Frozen<Service>, pod: Frozen<Pod>): Address | undefined => {
  const family = familyFor(service, pod);
  const found = pod.status?.podIPs?.find(({ip}) => familyOf(ip) === family);
  if (!found) return undefined;
  const hostname = hostnameWithin(service, pod);
  const {nodeName} = pod.spec ?? {};
  return {ip: found.ip, ...(hostname ? {hostname} : {}), ...(nodeName ? {nodeName} : {}), targetRef: referenceTo(pod)};
};

/** Returns the address of a pod of a service, without a port. */
const addressOf = (service: Frozen<Service>, pod: Frozen<Pod>): EndpointAddress | undefined => {
  const {publishNotReadyAddresses = false} = service.spec ?? {};
  if (!isEndpoint(pod, {terminating: publishNotReadyAddresses})) return undefined;
  const address = addressFor(service, pod);
  return address && {address, ready: publishNotReadyAddresses || isReady(pod), port: undefined};
};

/** Returns the ports of a service in a pod. */
const portsOf = function* ({spec}: Frozen<Service>, pod: Frozen<Pod>): Steps<readonly Port[]> {
  const targetPort = targetPorts(pod);
  const found = yield* mapInSteps(spec?.ports ?? [], (each): Port | undefined => {
    const port = targetPort(each);
    if (port === undefined) return undefined;
    const {name, protocol = 'TCP', appProtocol} = each;
    return {...(name ? {name} : {}), port, protocol, ...(appProtocol === undefined ? {} : {appProtocol})};
  });
  return found.filter(port => port !== undefined);
};

const portText = (port: Port | undefined): string =>
  port ? `${port.name ?? ''} ${port.port} ${port.protocol} ${port.appProtocol ?? ''}` : '';
const addressText = ({ip, targetRef}: Address): string => `${ip} ${targetRef?.uid ?? ''}`;
const byText = <T>([a]: readonly [string, T], [b]: readonly [string, T]): number => (a < b ? -1 : a > b ? 1 : 0);

/** So many addresses are grouped in one step. */
const groupedAtOnce = 500;

/**
 * Packs addresses into the fewest subsets: addresses with the same ports share one. An address that is ready on one
 * port and not on another is not ready. The order is fixed, so that equal input yields equal subsets.
 */
export const packSubsets = function* (endpointAddresses: Iterable<EndpointAddress>): Steps<readonly Subset[]> {
  const ports = new Map<
    string,
    {readonly port: Port | undefined; readonly at: Map<string, {readonly address: Address; readonly ready: boolean}>}
  >();
  const addresses = new Map<string, Address>();
  let grouped = 0;
  for (const {address, ready, port} of endpointAddresses) {
    if (++grouped % groupedAtOnce === 0) yield;
    const [portKey, addressKey] = [portText(port), addressText(address)];
    // The first entry of an address applies to all ports.
    const known = addresses.get(addressKey) ?? address;
    addresses.set(addressKey, known);
    let group = ports.get(portKey);
    if (!group) ports.set(portKey, (group = {port, at: new Map()}));
    group.at.set(addressKey, {address: known, ready: ready && (group.at.get(addressKey)?.ready ?? true)});
  }

  const sets = new Map<
    string,
    {readonly ports: Port[]; readonly at: readonly (readonly [string, {readonly address: Address; readonly ready: boolean}])[]}
  >();
  for (const [, {port, at}] of yield* sortedByInSteps([...ports], byText)) {
    const sorted = yield* sortedByInSteps([...at], byText);
    const text = sorted.map(([addressKey, {ready}]) => `${addressKey} ${ready}`).join();
    const set = sets.get(text);
    if (set && port) set.ports.push(port);
    else if (!set) sets.set(text, {ports: port ? [port] : [], at: sorted});
  }
  return [...sets.values()].map(({ports: shared, at}) => {
    const addressesOfState = (isReady: boolean) => at.filter(([, {ready}]) => ready === isReady).map(([, {address}]) => address);
    const [ready, notReady] = [addressesOfState(true), addressesOfState(false)];
    return {
      ...(ready.length > 0 ? {addresses: ready} : {}),
      ...(notReady.length > 0 ? {notReadyAddresses: notReady} : {}),
      ...(shared.length > 0 ? {ports: shared} : {}),
    };
  });
};

/**
 * Returns the subsets of a service. Without ports only headless services have any. Ports that are the same in all pods
 * are added once, to the subset of all addresses.
 */
export const subsetsFor = function* (service: Frozen<Service>, pods: readonly Frozen<Pod>[]): Steps<readonly Subset[]> {
  const {ports = [], clusterIP} = service.spec ?? {};
  if (ports.length === 0 && clusterIP !== 'None') return [];
  const isFixed = yield* hasFixedPorts(service);
  const endpointAddresses: EndpointAddress[] = [];
  for (const pod of pods) {
    yield;
    const found = addressOf(service, pod);
    if (found && isFixed) endpointAddresses.push(found);
    else if (found) for (const port of yield* portsOf(service, pod)) endpointAddresses.push({...found, port});
  }
  const subsets = yield* packSubsets(endpointAddresses);
  if (!isFixed || ports.length === 0 || pods.length === 0) return subsets;
  const texts = yield* mapInSteps(yield* portsOf(service, pods[0]!), (port): readonly [string, Port] => [portText(port), port]);
  const shared = (yield* sortedByInSteps(texts, byText)).map(([, port]) => port);
  return subsets.map(subset => ({...subset, ports: shared}));
};

const comparable = (subsets: readonly Frozen<Subset>[]): unknown => {
  const addressesOfState = (addresses: readonly Frozen<Address>[] = []) =>
    addresses.map(address => ({...address, targetRef: withoutVersion(address.targetRef)}));
  return subsets.map(({addresses, notReadyAddresses, ports = []}) => ({
    addresses: addressesOfState(addresses),
    notReadyAddresses: addressesOfState(notReadyAddresses),
    ports,
  }));
};

/** Whether two lists of subsets are equal, regardless of the pods' resource versions. */
export const sameSubsets = (a: readonly Frozen<Subset>[] = [], b: readonly Frozen<Subset>[] = []): Steps<boolean> =>
  sameInSteps(comparable(a), comparable(b), sameJson);
