// Opportunistic batching (KEP-5598): of pods that are alike and come one after another, where each fills its node, only
// the first is scored. The nodes that it left over are tried for the others, best first.

import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import {runFilters, type FilterSet} from '#src/scheduler/framework/filter-set.js';
import type {NodeHint} from '#src/scheduler/framework/fit.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';
import type {BatchMetrics} from './batch-metrics.js';
import type {PodSigner} from './sign-pod.js';
import type {SortedNodes} from './sorted-nodes.js';
import {unusableReason, type Batch, type LastCycle} from './unusable-reason.js';

export interface BatchParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly cluster: Cluster;
  /** Undefined if a plugin of the profile does not sign pods. */
  readonly signer: PodSigner | undefined;
  readonly metrics: BatchMetrics;
}

/** What was decided on a pod. */
export interface ScheduleResults {
  readonly cycle: number;
  readonly hint: NodeHint;
  readonly chosenNode: string;
  /** The other feasible nodes; undefined if there are none, or the pod has no signature. */
  readonly otherNodes: SortedNodes | undefined;
  readonly feasible: number;
}

/** The share of pods for which the signing is measured. */
const measuredShare = 0.1;

/** What the pods of one profile leave to those after them. */
export class OpportunisticBatch {
  readonly #parts: BatchParts;
  #batch: Batch | undefined;
  #last: LastCycle | undefined;
  #given: {readonly cycle: number; readonly node: string | undefined} | undefined;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /**
   * Signs a pod, and returns the node that the batch has for it. A pod that is decided on again in the same cycle gets
   * the same node.
   */
  *hintFor(filterSet: FilterSet, cycle: number): Steps<NodeHint> {
    const {clock, metrics} = this.#parts;
    const startedAt = clock.monotonic();
    const signature = yield* this.#sign(filterSet);
    if (this.#given?.cycle !== cycle) {
      const node = this.#nextNode(filterSet, signature, cycle);
      this.#given = {cycle, node};
      if (node === undefined) metrics.countAttempt('no_hint');
      metrics.observeHint(node === undefined ? 'no_hint' : 'hint', clock.monotonic() - startedAt);
    }
    return {signature, node: this.#given.node};
  }

  /** Keeps the nodes that a pod left over, unless it got its node by a hint: then those before it still hold. */
  store({cycle, hint: {signature, node}, chosenNode, otherNodes, feasible}: ScheduleResults): void {
    const {clock, metrics} = this.#parts;
    const startedAt = clock.monotonic();
    this.#last = {cycle, chosenNode};
    if (node === chosenNode) {
      metrics.countAttempt('hint_used');
    } else {
      if (node !== undefined) metrics.countAttempt('hint_not_used');
      this.#batch = signature !== undefined && otherNodes ? {signature, nodes: otherNodes, createdAt: startedAt} : undefined;
      if (!this.#batch) metrics.countFlush(feasible > 1 ? 'pod_not_batchable' : 'empty_list');
    }
    metrics.observeStore(clock.monotonic() - startedAt);
  }

  *#sign({pod}: FilterSet): Steps<string | undefined> {
    const {clock, random, cluster, signer, metrics} = this.#parts;
    const startedAt = random.float() < measuredShare ? clock.monotonic() : undefined;
    const signature = signer && (yield* signer.sign(pod, cluster));
    if (startedAt !== undefined) metrics.observeSign(clock.monotonic() - startedAt);
    return signature;
  }

  #nextNode(filterSet: FilterSet, signature: string | undefined, cycle: number): string | undefined {
    const {clock, cluster, metrics} = this.#parts;
    if (!this.#batch || this.#batch.nodes.length === 0) return undefined;
    const reason = unusableReason(this.#batch, this.#last, {
      cycle,
      signature,
      now: clock.monotonic(),
      nodeOf: name => cluster.node(name),
      isFull: node => runFilters(filterSet, node) !== undefined,
    });
    if (reason === undefined) return this.#batch.nodes.pop();
    metrics.countFlush(reason);
    return undefined;
  }
}
