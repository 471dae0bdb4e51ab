// Admits pods whose resources can be aligned on NUMA nodes, and has the resource managers allocate them.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {runStepwise, settled, type Stepwise} from '#src/base/stepwise.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {ManagerRefusal, Reserved} from '#src/platlet/pod/admission/managers.js';
import {allocatedContainers} from '#src/platlet/pod/allocated-containers.js';
import {AllocationError, type HintProvider, type TopologyHint} from './hints.js';
import {mergeHints, type NumaOrder, type TopologyPolicy} from './merge.js';

export type TopologyMetrics = Pick<
  AgentMetrics,
  'topologyRequests' | 'topologyErrors' | 'topologyDuration' | 'alignedResources' | 'unalignedResources'
>;

export interface TopologyManagerParts {
  readonly policy: TopologyPolicy;
  readonly scope: 'container' | 'pod';
  readonly order: NumaOrder;
  /** In the order in which they are asked and allocate. */
  readonly providers: readonly HintProvider[];
  readonly metrics: TopologyMetrics;
  readonly clock: Clock;
}

/** No preference, and none that is known: what the policy `none` gives. */
const noHint: TopologyHint = {affinity: undefined, isPreferred: false};

/** Throws if the machine is not one that the policy works on. */
export const checkNumaOrder = (policy: TopologyPolicy, {nodes, options}: NumaOrder): void => {
  if (policy === 'none') return;
  if (options.prefersClosest && nodes.some(({distances}) => distances === undefined))
    throw new Error('cannot discover NUMA topology: error getting NUMA distances from cadvisor');
  if (nodes.length > options.maxNumaNodes) throw new Error(`unsupported on machines with more than ${options.maxNumaNodes} NUMA Nodes`);
};

/** Aligns the resources of pods. */
export class TopologyManager {
  readonly #parts: TopologyManagerParts;

  constructor(parts: TopologyManagerParts) {
    this.#parts = parts;
    if (parts.policy === 'none') return;
    for (const scope of ['container', 'pod']) {
      parts.metrics.alignedResources.add({scope, boundary: 'numa_node'}, 0);
      parts.metrics.unalignedResources.add({scope, boundary: 'numa_node'}, 0);
    }
  }

  /**
   * Allocates the resources of a pod, at once unless a manager has to wait. Returns why they cannot be allocated; those
   * allocated before stay.
   */
  admit(pod: Frozen<Pod>): Reserved {
    return runStepwise(this.#admission(pod));
  }

  *#admission(pod: Frozen<Pod>): Stepwise<ManagerRefusal | undefined> {
    const {metrics, clock, policy} = this.#parts;
    const begun = clock.monotonic();
    metrics.topologyRequests.add();
    try {
      yield* this.#allocate(pod);
      return undefined;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      if (policy !== 'none') metrics.topologyErrors.add();
      return error.refusal;
    } finally {
      metrics.topologyDuration.observe(clock.monotonic() - begun);
    }
  }

  *#allocate(pod: Frozen<Pod>): Stepwise<void> {
    const {policy, scope, providers} = this.#parts;
    const ofPod = policy !== 'none' && scope === 'pod' ? this.#merged(providers.map(provider => provider.podHints(pod))) : undefined;
    for (const container of allocatedContainers(pod)) {
      const hint = policy === 'none' ? noHint : (ofPod ?? this.#merged(providers.map(provider => provider.containerHints(pod, container))));
      for (const provider of providers) yield* settled(provider.allocate(pod, container, hint));
      if (scope === 'container') this.#aligned();
    }
    if (scope === 'pod') this.#aligned();
  }

  #merged(hints: Parameters<typeof mergeHints>[2]): TopologyHint {
    const {policy, order, scope, metrics} = this.#parts;
    const {hint, isAdmitted} = mergeHints(policy as Exclude<TopologyPolicy, 'none'>, order, hints);
    if (isAdmitted) return hint;
    if (policy === 'single-numa-node') metrics.unalignedResources.add({scope, boundary: 'numa_node'});
    throw new AllocationError({is: 'topology'});
  }

  /** Only the policy for single NUMA nodes guarantees the alignment. */
  #aligned(): void {
    const {policy, scope, metrics} = this.#parts;
    if (policy === 'single-numa-node') metrics.alignedResources.add({scope, boundary: 'numa_node'});
  }
}
