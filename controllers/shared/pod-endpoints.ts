import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ObjectReference} from '#src/api/types.js';
import {formatIp, parseIp, unmapped} from '#src/base/ip-address.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Service} from './services.js';

export type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];
export type AddressFamily = 'IPv4' | 'IPv6';

/** The family of an address; undefined for what is none. */
export const familyOf = (text: string): AddressFamily | undefined => {
  const parsed = parseIp(text, true);
  return parsed && (unmapped(parsed).family === 4 ? 'IPv4' : 'IPv6');
};

/** An address in its one canonical form, with its family; undefined for what is none. Octets may have leading zeros. */
export const readAddress = (text: string): {readonly family: AddressFamily; readonly text: string} | undefined => {
  const parsed = parseIp(text, true);
  if (!parsed) return undefined;
  const address = unmapped(parsed);
  return {family: address.family === 4 ? 'IPv4' : 'IPv6', text: formatIp(address)};
};

/** Whether callers may be told of the pod: it has an address, its work is not over, and it is not going, unless those that go count too. */
export const isEndpoint = (pod: Frozen<Pod>, {terminating}: {readonly terminating: boolean}): boolean => {
  const {podIP, podIPs = []} = pod.status ?? {};
  return !isTerminal(pod) && Boolean(podIP || podIPs.length > 0) && (terminating || !pod.metadata?.deletionTimestamp);
};

/** The pod's name within the domain of the service, if it has one there. */
export const hostnameWithin = ({metadata}: Frozen<Service>, pod: Frozen<Pod>): string | undefined => {
  const {hostname, subdomain} = pod.spec ?? {};
  return hostname && subdomain === metadata?.name && metadata?.namespace === pod.metadata?.namespace ? hostname : undefined;
};

/** The number behind a service's port in this pod: named ports are looked up in its containers; undefined when none has that name. */
export const targetPort = (pod: Frozen<Pod>, {port, protocol, targetPort: target = port}: Frozen<ServicePort>): number | undefined => {
  if (typeof target === 'number') return target;
  const {containers = [], initContainers = []} = pod.spec ?? {};
  for (const {ports = []} of [...containers, ...initContainers.filter(isSidecar)]) {
    const found = ports.find(each => each.name === target && (each.protocol ?? 'TCP') === (protocol ?? 'TCP'));
    if (found) return found.containerPort;
  }
  return undefined;
};

export const referenceTo = ({metadata}: Frozen<Pod>): ObjectReference => ({
  kind: 'Pod',
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
});

/** The same reference but for the version of the object, which says nothing to callers. */
export const withoutVersion = (reference: Frozen<ObjectReference> | undefined): Frozen<ObjectReference> | undefined => {
  if (!reference?.resourceVersion) return reference;
  const {resourceVersion: _, ...rest} = reference;
  return rest;
};
