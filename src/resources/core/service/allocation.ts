import {invalid, invalidObject, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {internalError, plainFailure} from '#src/api/status.js';
import type {AllocationContext, ReleaseContext} from '#src/resources/definition.js';
import {PoolError, type AddressHolder, type Reservation} from '#src/resources/pools.js';
import {decideFamilies, isUnchangedPreference} from './ip-families.js';
import {
  headless,
  heldAddresses,
  heldPorts,
  needsClusterIp,
  needsHealthPort,
  needsNodePorts,
  nodePortsOf,
  sameList,
  type Service,
  type ServiceSpec,
} from './traits.js';

const refuse = (service: Readonly<Service>, ...errors: readonly FieldError[]): Error =>
  invalidObject({group: '', kind: 'Service'}, service.metadata?.name ?? '', errors);

const holderOf = ({metadata}: Readonly<Service>): AddressHolder => ({namespace: metadata?.namespace ?? '', name: metadata?.name ?? ''});

const allocatesPorts = ({type, allocateLoadBalancerNodePorts: requested}: Readonly<ServiceSpec>): boolean =>
  type === 'NodePort' || (type === 'LoadBalancer' && requested !== false);

/** Sets the first list item from the single address, for clients that do not know the list. */
const alignAddresses = (spec: ServiceSpec, old: Readonly<ServiceSpec> | undefined): void => {
  const {clusterIP = ''} = spec;
  if (!old) {
    if (clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const {clusterIP: before = '', clusterIPs: list = []} = old;
  if (clusterIP === before) {
    if (list.length > 0 && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [...list];
  } else if (sameList(list, spec.clusterIPs)) {
    if (before && !clusterIP) delete spec.clusterIPs;
    else spec.clusterIPs = [clusterIP];
  }
};

/** Keeps allocated values when a client sends a manifest without them again. */
const keepAllocated = (spec: ServiceSpec, old: Readonly<ServiceSpec>): void => {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  }
  if (allocatesPorts(old) && allocatesPorts(spec)) {
    const named = new Map((old.ports ?? []).map(({name = '', nodePort}) => [name, nodePort]));
    const before = nodePortsOf(old);
    const used = nodePortsOf(spec).filter(port => before.includes(port));
    for (const port of spec.ports ?? []) {
      const known = port.nodePort ? undefined : named.get(port.name ?? '');
      if (known && !used.includes(known)) port.nodePort = known;
    }
  }
  if (needsHealthPort(old) && needsHealthPort(spec) && !spec.healthCheckNodePort && old.healthCheckNodePort)
    spec.healthCheckNodePort = old.healthCheckNodePort;
};

/** Allocates the requested addresses at the given indexes, or any free ones. */
const takeAddresses = async (service: Service, places: readonly number[], reservation: Reservation): Promise<void> => {
  const spec = service.spec!;
  const {ipFamilies = []} = spec;
  const addresses = (spec.clusterIPs ??= []);
  for (const place of places) {
    const requested = addresses[place];
    const family = ipFamilies[place] === 'IPv6' ? 'IPv6' : 'IPv4';
    try {
      if (requested) await reservation.address(requested, holderOf(service));
      else addresses[place] = await reservation.anyAddress(family, holderOf(service));
    } catch (error) {
      if (!(error instanceof PoolError)) throw error;
      if (!requested) throw internalError(`failed to allocate a serviceIP: ${error.message}`);
      throw refuse(service, invalid('spec.clusterIPs', addresses, `failed to allocate IP ${requested}: ${error.message}`));
    }
  }
  if (addresses[0]) spec.clusterIP = addresses[0];
};

const allocateAddresses = async (service: Service, old: Readonly<ServiceSpec> | undefined, reservation: Reservation): Promise<void> => {
  const spec = service.spec!;
  const {ipFamilies = []} = spec;
  if (old && isUnchangedPreference(spec, old)) return;
  if (!old || (!needsClusterIp(old) && needsClusterIp(spec))) {
    if (needsClusterIp(spec) && spec.clusterIPs?.[0] !== headless) await takeAddresses(service, [...ipFamilies.keys()], reservation);
    return;
  }
  if (old.clusterIPs?.[0] === headless) return;
  if (needsClusterIp(old) && !needsClusterIp(spec)) return reservation.releaseAddresses(old.clusterIPs ?? []);
  const before = old.ipFamilies?.length ?? 0;
  if (before === 1 && ipFamilies.length === 2) await takeAddresses(service, [1], reservation);
  else if (before === 2 && ipFamilies.length === 1) reservation.releaseAddresses((old.clusterIPs ?? []).slice(1));
};

const takePort = async (service: Service, index: number, port: number, reservation: Reservation): Promise<void> => {
  try {
    await reservation.port(port);
  } catch (error) {
    if (!(error instanceof PoolError)) throw error;
    throw refuse(service, invalid(`spec.ports[${index}].nodePort`, port, error.message));
  }
};

const takeAnyPort = async (reservation: Reservation): Promise<number> => {
  try {
    return await reservation.anyPort();
  } catch (error) {
    throw error instanceof PoolError ? internalError(`failed to allocate a nodePort: ${error.message}`) : error;
  }
};

/** Allocates node ports. Ports of one number under several protocols share a node port. */
const firstPorts = async (service: Service, reservation: Reservation): Promise<void> => {
  const spec = service.spec!;
  const {ports = []} = spec;
  const byPort = new Map<number, number>();
  for (const [i, port] of ports.entries()) {
    if (!port.nodePort && !allocatesPorts(spec)) continue;
    const shared = byPort.get(port.port);
    if (shared !== undefined) {
      if (!port.nodePort) port.nodePort = shared;
      else if (port.nodePort !== shared) await takePort(service, i, port.nodePort, reservation);
      continue;
    }
    const requested = ports.find(other => other.port === port.port && other.nodePort)?.nodePort;
    if (requested) await takePort(service, i, requested, reservation);
    port.nodePort = requested ?? (await takeAnyPort(reservation));
    byPort.set(port.port, port.nodePort);
  }
};

const changedPorts = async (service: Service, old: Readonly<ServiceSpec>, reservation: Reservation): Promise<void> => {
  const spec = service.spec!;
  const allocated = new Set(nodePortsOf(old));
  const met = new Set<string>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort) {
      if (allocatesPorts(spec)) port.nodePort = await takeAnyPort(reservation);
    } else if (!allocated.has(port.nodePort)) await takePort(service, i, port.nodePort, reservation);
    if (!port.nodePort) continue;
    allocated.add(port.nodePort);
    const pair = `{${port.protocol} ${port.nodePort}}`;
    if (met.has(pair)) throw plainFailure(`duplicate nodePort: ${pair}`);
    met.add(pair);
  }
  const kept = nodePortsOf(spec);
  reservation.releasePorts(nodePortsOf(old).filter(port => !kept.includes(port)));
};

const healthPort = async (spec: ServiceSpec, reservation: Reservation): Promise<void> => {
  const requested = spec.healthCheckNodePort;
  try {
    if (requested) await reservation.port(requested);
    else spec.healthCheckNodePort = await reservation.anyPort();
  } catch (error) {
    if (!(error instanceof PoolError)) throw error;
    throw internalError(`failed to allocate ${requested ? 'requested' : 'a'} HealthCheck NodePort ${requested ?? 0}: ${error.message}`);
  }
};

const allocatePorts = async (service: Service, old: Readonly<ServiceSpec> | undefined, reservation: Reservation): Promise<void> => {
  const spec = service.spec!;
  if (needsNodePorts(spec)) await (old ? changedPorts(service, old, reservation) : firstPorts(service, reservation));
  else if (old && needsNodePorts(old)) reservation.releasePorts(nodePortsOf(old));
  const [needs, needed] = [needsHealthPort(spec), needsHealthPort(old)];
  if (needs && !needed) await healthPort(spec, reservation);
  else if (needed && !needs && old?.healthCheckNodePort) reservation.releasePorts([old.healthCheckNodePort]);
};

/**
 * Reserves the addresses and node ports of a service, and releases those it no longer needs. Throws the Status of a
 * refusal.
 */
export const allocateService = async (
  service: Service,
  stored: Readonly<Service> | undefined,
  {reservation, gate}: AllocationContext,
): Promise<void> => {
  const spec = (service.spec ??= {});
  const old = stored ? (stored.spec ?? {}) : undefined;
  if (old) keepAllocated(spec, old);
  alignAddresses(spec, old);
  const errors = decideFamilies(spec, old, reservation.families, gate('StrictIPCIDRValidation'));
  if (errors.length > 0) throw refuse(service, ...errors);
  await allocateAddresses(service, old, reservation);
  await allocatePorts(service, old, reservation);
};

/**
 * Releases everything a deleted service held. Its Endpoints are deleted too, so that a new service of that name starts
 * without them.
 */
export const releaseService = async ({metadata, spec}: Readonly<Service>, {reservation, remove}: ReleaseContext): Promise<void> => {
  await remove(kinds.endpoints, metadata?.namespace ?? '', metadata?.name ?? '');
  reservation.releaseAddresses(heldAddresses(spec));
  reservation.releasePorts(heldPorts(spec));
};
