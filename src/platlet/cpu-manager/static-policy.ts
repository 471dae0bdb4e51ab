// The static policy: containers of Guaranteed pods that request whole CPUs get them exclusively, all others share the
// rest.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {cpusIn, cpusOf, idsWithin, placesOf, idsAt, sharesUncoreCache, type CpuTopology} from '#src/platlet/topology/cpu-topology.js';
import {difference, formatCpuSet, intersection, isSameSet, noCpus, union, type CpuSet} from '#src/platlet/topology/cpuset.js';
import {nodesOf, type NumaMask} from '#src/platlet/topology-manager/mask.js';
import {takeDistributed, takePacked, takePreferring} from './assignment.js';
import type {CpuState} from './checkpoint.js';
import type {CpuPolicyOptions} from './options.js';
import {endsBeforeNext} from '#src/platlet/pod/allocated-containers.js';

export interface StaticCpuPolicy {
  readonly topology: CpuTopology;
  readonly options: CpuPolicyOptions;
  /** Never allocated exclusively. */
  readonly reserved: CpuSet;
}

export const assignedCpus = ({assignments}: CpuState, uid: string, container: string): CpuSet | undefined =>
  assignments.get(uid)?.get(container);

/** Returns the CPUs that containers have exclusively. */
export const exclusiveCpus = ({assignments}: CpuState): CpuSet => union(...[...assignments.values()].flatMap(each => [...each.values()]));

/** Returns the CPUs that may be allocated. */
export const availableCpus = ({reserved}: StaticCpuPolicy, {shared}: CpuState): CpuSet => difference(shared, reserved);

/** Returns the CPUs that may be allocated core by core: those on cores without reserved CPUs. */
export const availableOnWholeCores = ({topology: {places}, reserved}: StaticCpuPolicy, {shared}: CpuState): CpuSet =>
  difference(shared, cpusIn(places, 'core', idsAt(placesOf(places, reserved), 'core')));

/** Takes CPUs as the options say. Throws if there are not enough. */
export const takeByOptions = (topology: CpuTopology, options: CpuPolicyOptions, available: CpuSet, count: number): CpuSet => {
  const request = {topology, available, count, order: options.distributesAcrossCores ? 'spread' : 'packed'} as const;
  if (options.distributesAcrossNuma) return takeDistributed(request, options.fullCoresOnly ? topology.cpusPerCore : 1);
  return takePacked(request, options.prefersCaches);
};

/**
 * Returns the policy. Without given reserved CPUs the lowest ones are reserved. Throws if that many cannot be reserved.
 */
export const staticCpuPolicy = (
  topology: CpuTopology,
  options: CpuPolicyOptions,
  {count, given}: {readonly count: number; readonly given: CpuSet},
): StaticCpuPolicy => {
  const reserved = given.size > 0 ? given : takeIfEnough(topology, options, count);
  if (reserved.size !== count)
    throw new Error(
      `[cpumanager] unable to reserve the required amount of CPUs (size of ${formatCpuSet(reserved)} did not equal ${count})`,
    );
  return {topology, options, reserved};
};

const takeIfEnough = (topology: CpuTopology, options: CpuPolicyOptions, count: number): CpuSet =>
  count > topology.places.size ? noCpus : takeByOptions(topology, options, cpusOf(topology.places), count);

/** Returns the CPUs of the NUMA nodes of a hint, or of their sockets. */
const alignedCpus = ({topology: {places}, options}: StaticCpuPolicy, affinity: NumaMask, available: CpuSet): CpuSet => {
  const nodes = new Set(nodesOf(affinity));
  return options.alignsBySocket
    ? intersection(available, cpusIn(places, 'socket', idsWithin(places, 'socket', 'numaNode', nodes)))
    : intersection(available, cpusIn(places, 'numaNode', nodes));
};

export interface CpuAllocation {
  readonly cpus: CpuSet;
  readonly sharesCache: boolean;
}

/** Chooses exclusive CPUs, those of the affinity first. Throws if there are not enough. */
export const allocateCpus = (
  policy: StaticCpuPolicy,
  state: CpuState,
  {count, affinity, reusable}: {readonly count: number; readonly affinity: NumaMask | undefined; readonly reusable: CpuSet},
): CpuAllocation => {
  const {topology, options} = policy;
  const available = union(availableCpus(policy, state), reusable);
  const aligned = affinity === undefined ? noCpus : alignedCpus(policy, affinity, available);
  const cpus = takePreferring(aligned, available, count, (from, some) => takeByOptions(topology, options, from, some));
  return {cpus, sharesCache: sharesUncoreCache(topology, cpus)};
};

/** Returns the state with CPUs assigned to a container. */
export const withAssignment = (state: CpuState, uid: string, container: string, cpus: CpuSet): CpuState => ({
  shared: difference(state.shared, cpus),
  assignments: new Map(state.assignments).set(uid, new Map(state.assignments.get(uid)).set(container, cpus)),
});

/** Returns the state without the CPUs of a container. Those that its pod has for other containers are not released. */
export const withoutAssignment = (state: CpuState, uid: string, container: string): CpuState => {
  const released = assignedCpus(state, uid, container);
  if (!released) return state;
  const ofPod = new Map(state.assignments.get(uid));
  ofPod.delete(container);
  const assignments = new Map(state.assignments).set(uid, ofPod);
  if (ofPod.size === 0) assignments.delete(uid);
  return {shared: union(state.shared, difference(released, union(...ofPod.values()))), assignments};
};

/** Returns the CPUs of the pod that its next containers may reuse: those of init containers that end before. */
export const reusableAfter = (pod: Frozen<Pod>, container: Frozen<AnyContainer>, reusable: CpuSet, cpus: CpuSet): CpuSet =>
  endsBeforeNext(pod, container) ? union(reusable, cpus) : difference(reusable, cpus);

/** Returns the state to begin with: the saved one. Throws if it does not fit the machine and its reserved CPUs. */
export const checkedState = ({topology, options, reserved}: StaticCpuPolicy, state: CpuState): CpuState => {
  const all = options.reservesStrictly ? difference(cpusOf(topology.places), reserved) : cpusOf(topology.places);
  const {shared, assignments} = state;
  if (shared.size === 0) {
    if (assignments.size > 0) throw new Error('default cpuset cannot be empty');
    return {shared: all, assignments};
  }
  const reservedShared = intersection(reserved, shared);
  if (options.reservesStrictly && reservedShared.size > 0)
    throw new Error(
      `some of strictly reserved cpus: "${formatCpuSet(reservedShared)}" are present in defaultCpuSet: "${formatCpuSet(shared)}"`,
    );
  if (!options.reservesStrictly && !isSameSet(reservedShared, reserved))
    throw new Error(`not all reserved cpus: "${formatCpuSet(reserved)}" are present in defaultCpuSet: "${formatCpuSet(shared)}"`);
  for (const [uid, containers] of assignments)
    for (const [name, cpus] of containers)
      if (intersection(shared, cpus).size > 0)
        throw new Error(
          `pod: ${uid}, container: ${name} cpuset: "${formatCpuSet(cpus)}" overlaps with default cpuset "${formatCpuSet(shared)}"`,
        );
  const known = union(shared, exclusiveCpus(state));
  if (!isSameSet(known, all))
    throw new Error(`current set of available CPUs "${formatCpuSet(all)}" doesn't match with CPUs in state "${formatCpuSet(known)}"`);
  return state;
};
