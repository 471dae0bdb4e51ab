// Allocates exclusive CPUs to containers, and tells which CPUs each container may use.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {idsAt, cpusIn} from '#src/platlet/topology/cpu-topology.js';
import {difference, intersection, noCpus, union, type CpuSet} from '#src/platlet/topology/cpuset.js';
import {AllocationError, type HintProvider, type ResourceHints, type TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {allocatedContainers, leftContainers} from '#src/platlet/pod/allocated-containers.js';
import {formatCpuState, type CpuState} from './checkpoint.js';
import {cpuHints} from './hints.js';
import {exclusiveCpusOf, hasPodResources, neededAtOnce} from './requests.js';
import {
  allocateCpus,
  assignedCpus,
  availableCpus,
  availableOnWholeCores,
  exclusiveCpus,
  reusableAfter,
  withAssignment,
  withoutAssignment,
  type StaticCpuPolicy,
} from './static-policy.js';

export type CpuMetrics = Pick<
  AgentMetrics,
  'cpuPinnings' | 'cpuPinningErrors' | 'sharedPool' | 'exclusiveCpus' | 'cpusPerNuma' | 'alignedResources' | 'unalignedResources'
>;

export interface CpuManagerParts {
  /** Undefined: the policy `none`, under which all containers use all CPUs. */
  readonly policy: StaticCpuPolicy | undefined;
  readonly state: CpuState;
  readonly file: Pick<CheckpointFile, 'write'>;
  readonly metrics: CpuMetrics;
  /** Whether pods may have resources of their own. */
  readonly withPodLevel: boolean;
}

/** Allocates CPUs. */
export class CpuManager implements HintProvider {
  readonly #parts: CpuManagerParts;
  #state: CpuState;
  /** The CPUs that the containers of the pod that was admitted last may reuse. */
  #reusable: {readonly uid: string; readonly cpus: CpuSet} = {uid: '', cpus: noCpus};

  constructor(parts: CpuManagerParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#save();
    if (!parts.policy) return;
    for (const boundary of ['physical_cpu', 'uncore_cache']) parts.metrics.alignedResources.add({scope: 'container', boundary}, 0);
    parts.metrics.unalignedResources.add({scope: 'container', boundary: 'physical_cpu'}, 0);
  }

  /** Returns the exclusive CPUs of a container; none if it uses the shared pool. */
  exclusiveOf(uid: string, container: string): CpuSet {
    return assignedCpus(this.#state, uid, container) ?? noCpus;
  }

  /** The CPUs that containers can have exclusively, whether they have them or not. */
  get allocatable(): CpuSet {
    const {policy} = this.#parts;
    return policy ? difference(new Set(policy.topology.places.keys()), policy.reserved) : noCpus;
  }

  /** Returns the CPUs that a container may use; empty if it is not restricted. */
  affinityOf(uid: string, container: string): CpuSet {
    return assignedCpus(this.#state, uid, container) ?? this.#state.shared;
  }

  containerHints(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ResourceHints | undefined {
    const count = this.#requestOf(pod, container);
    const {policy} = this.#parts;
    if (!policy || count === 0) return undefined;
    const assigned = assignedCpus(this.#state, pod.metadata?.uid ?? '', container.name);
    if (assigned && assigned.size !== count) return {cpu: []};
    return {cpu: assigned ? this.#hints(policy, assigned, noCpus, count) : this.#hintsOf(policy, pod, noCpus, count)};
  }

  podHints(pod: Frozen<Pod>): ResourceHints | undefined {
    const count = neededAtOnce(pod, container => this.#requestOf(pod, container));
    const {policy} = this.#parts;
    if (!policy || count === 0) return undefined;
    let assigned = noCpus;
    for (const container of allocatedContainers(pod)) {
      const cpus = assignedCpus(this.#state, pod.metadata?.uid ?? '', container.name);
      if (cpus && cpus.size !== this.#requestOf(pod, container)) return {cpu: []};
      assigned = union(assigned, cpus ?? noCpus);
    }
    const isAllocated = assigned.size === count;
    return {cpu: isAllocated ? this.#hints(policy, assigned, noCpus, count) : this.#hintsOf(policy, pod, assigned, count)};
  }

  #hintsOf(policy: StaticCpuPolicy, pod: Frozen<Pod>, assigned: CpuSet, count: number): readonly TopologyHint[] {
    return this.#hints(policy, availableCpus(policy, this.#state), union(this.#reusableOf(pod), assigned), count);
  }

  #hints({topology, options}: StaticCpuPolicy, available: CpuSet, reusable: CpuSet, count: number): readonly TopologyHint[] {
    return cpuHints(topology, {available, reusable, count, alignsBySocket: options.alignsBySocket});
  }

  allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, {affinity}: TopologyHint): void {
    const {policy, metrics} = this.#parts;
    const count = this.#requestOf(pod, container);
    if (!policy || count === 0) return;
    metrics.cpuPinnings.add();
    const aligned = {scope: 'container', boundary: 'physical_cpu'};
    try {
      this.#allocate(policy, pod, container, {count, affinity});
      if (policy.options.fullCoresOnly) metrics.alignedResources.add(aligned);
    } catch (error) {
      metrics.cpuPinningErrors.add();
      if (policy.options.fullCoresOnly) metrics.unalignedResources.add(aligned);
      throw error instanceof AllocationError ? error : new AllocationError({is: 'failed', error: messageOf(error)});
    }
  }

  #allocate(
    policy: StaticCpuPolicy,
    pod: Frozen<Pod>,
    container: Frozen<AnyContainer>,
    {count, affinity}: {readonly count: number; readonly affinity: TopologyHint['affinity']},
  ): void {
    const uid = pod.metadata?.uid ?? '';
    const reusable = this.#reusableOf(pod);
    checkWholeCores(policy, this.#state, count);
    const assigned = assignedCpus(this.#state, uid, container.name);
    const {cpus, sharesCache} = assigned
      ? {cpus: assigned, sharesCache: false}
      : allocateCpus(policy, this.#state, {count, affinity, reusable});
    this.#reusable = {uid, cpus: reusableAfter(pod, container, reusable, cpus)};
    if (assigned) return;
    if (sharesCache) this.#parts.metrics.alignedResources.add({scope: 'container', boundary: 'uncore_cache'});
    this.#state = withAssignment(this.#state, uid, container.name, cpus);
    this.#save();
  }

  retain(pods: readonly Frozen<Pod>[]): void {
    const before = this.#state;
    for (const [uid, name] of leftContainers(before.assignments, pods)) this.#state = withoutAssignment(this.#state, uid, name);
    if (this.#state !== before) this.#save();
  }

  #requestOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): number {
    return this.#parts.withPodLevel && hasPodResources(pod) ? 0 : exclusiveCpusOf(pod, container);
  }

  #reusableOf({metadata}: Frozen<Pod>): CpuSet {
    return this.#reusable.uid === metadata?.uid ? this.#reusable.cpus : noCpus;
  }

  #save(): void {
    const {policy, file, metrics} = this.#parts;
    file.write(formatCpuState(policy ? 'static' : 'none', this.#state));
    if (!policy) return;
    const exclusive = exclusiveCpus(this.#state);
    const {places} = policy.topology;
    metrics.sharedPool.set(availableCpus(policy, this.#state).size * 1000);
    metrics.exclusiveCpus.set(exclusive.size);
    for (const node of idsAt(places, 'numaNode'))
      metrics.cpusPerNuma.set(intersection(exclusive, cpusIn(places, 'numaNode', new Set([node]))).size, {numa_node: String(node)});
  }
}

/** Throws if only whole cores are allocated, and the CPUs are not those of whole cores. */
const checkWholeCores = (policy: StaticCpuPolicy, state: CpuState, requested: number): void => {
  const {topology, options} = policy;
  const {cpusPerCore} = topology;
  if (!options.fullCoresOnly) return;
  if (requested % cpusPerCore !== 0) throw new AllocationError({is: 'smt-alignment', requested, cpusPerCore});
  const availableCpus = availableOnWholeCores(policy, state).size;
  if (requested > availableCpus) throw new AllocationError({is: 'smt-alignment', requested, cpusPerCore, availableCpus});
};
