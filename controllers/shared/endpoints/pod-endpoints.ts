// Pods as endpoints of a service: which pods count, and their addresses, host names and ports.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ObjectReference} from '#src/api/types.js';
import {formatIp, parseIp, unmapped} from '#src/base/ip-address.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Service} from './services.js';

export type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];
export type AddressFamily = 'IPv4' | 'IPv6';

/** Returns the family of an address; undefined for an invalid one. */
export const familyOf = (text: string): AddressFamily | undefined => {
  const parsed = parseIp(text, true);
  return parsed && (unmapped(parsed).family === 4 ? 'IPv4' : 'IPv6');
};

/** Parses an address to its canonical form and family; undefined for an invalid one. Octets may have leading zeros. */
export const readAddress = (text: string): {readonly family: AddressFamily; readonly text: string} | undefined => {
  const parsed = parseIp(text, true);
  if (!parsed) return undefined;
  const address = unmapped(parsed);
  return {family: address.family === 4 ? 'IPv4' : 'IPv6', text: formatIp(address)};
};

/**
 * Whether the pod is an endpoint: it has an address, is not terminal, and is not being deleted unless terminating ones
 * count.
 */
export const isEndpoint = (pod: Frozen<Pod>, {terminating}: {readonly terminating: boolean}): boolean => {
  const {podIP, podIPs = []} = pod.status ?? {};
  return !isTerminal(pod) && Boolean(podIP || podIPs.length > 0) && (terminating || !pod.metadata?.deletionTimestamp);
};

/** Returns the pod's hostname in the service's domain, if it has one. */
export const hostnameWithin = ({metadata}: Frozen<Service>, pod: Frozen<Pod>): string | undefined => {
  const {hostname, subdomain} = pod.spec ?? {};
  return hostname && subdomain === metadata?.name && metadata?.namespace === pod.metadata?.namespace ? hostname : undefined;
};

const nameText = (name: string | undefined, protocol = 'TCP'): string => `${protocol} ${name ?? ''}`;

/** Returns a pod's ports by protocol and name: the first of each. */
const namedPorts = ({spec}: Frozen<Pod>): ReadonlyMap<string, number> => {
  const {containers = [], initContainers = []} = spec ?? {};
  const named = new Map<string, number>();
  for (const {ports = []} of [...containers, ...initContainers.filter(isSidecar)]) {
    for (const {name, protocol, containerPort} of ports) {
      const text = nameText(name, protocol);
      if (!named.has(text)) named.set(text, containerPort);
    }
  }
  return named;
};

/**
 * Returns a function that returns the port number of a service's port in this pod: named ports are those of its
 * containers; undefined if none has the name.
 */
export const targetPorts = (pod: Frozen<Pod>): ((port: Frozen<ServicePort>) => number | undefined) => {
  let named: ReadonlyMap<string, number> | undefined;
  return ({port, protocol, targetPort: target = port}) =>
    typeof target === 'number' ? target : (named ??= namedPorts(pod)).get(nameText(target, protocol));
};

export const referenceTo = ({metadata}: Frozen<Pod>): ObjectReference => ({
  kind: 'Pod',
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
});

/** Returns the reference without the resource version, which is irrelevant for clients. */
export const withoutVersion = (reference: Frozen<ObjectReference> | undefined): Frozen<ObjectReference> | undefined => {
  if (!reference?.resourceVersion) return reference;
  const {resourceVersion: _, ...rest} = reference;
  return rest;
};
