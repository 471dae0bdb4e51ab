// Allocates memory on NUMA nodes to containers of Guaranteed pods.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import {podQosClass} from '#src/model/pod/qos.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {hasPodResources, neededAtOnce} from '#src/platlet/cpu-manager/requests.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {AllocationError, type HintProvider, type ResourceHints, type TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {allocatedContainers, endsBeforeNext, leftContainers} from '#src/platlet/pod/allocated-containers.js';
import {maskOf, nodesOf, type NumaMask} from '#src/platlet/topology-manager/mask.js';
import {formatMemoryState} from './checkpoint.js';
import {bestHint, hintsOfBlocks, memoryHints, type MemoryHint, type MemoryRequest} from './hints.js';
import {isMemoryType} from './reserved.js';
import {withBlocks, withoutBlocks, withReuse} from './assignments.js';
import {excludesGroup, freeOn, withTaken, type MemoryBlock, type MemoryState} from './state.js';

export interface MemoryManagerParts {
  /** `None`: memory is allocated by the kernel alone. */
  readonly policy: 'None' | 'Static';
  readonly state: MemoryState;
  readonly file: Pick<CheckpointFile, 'write'>;
  readonly metrics: Pick<AgentMetrics, 'memoryPinnings' | 'memoryPinningErrors'>;
  /** Whether pods may have resources of their own. */
  readonly withPodLevel: boolean;
}

const failed = (error: string): AllocationError => new AllocationError({is: 'failed', error: `[memorymanager] ${error}`});

const requestOf = ({resources}: Frozen<AnyContainer>): MemoryRequest =>
  new Map(
    Object.entries(resources?.requests ?? {}).flatMap(([name, text]) =>
      isMemoryType(name) ? [[name, Number(quantityValue(parseQuantity(text)))] as const] : [],
    ),
  );

/** Returns what the containers of a pod need together, of the types that its regular containers request. */
const podRequestOf = (pod: Frozen<Pod>): MemoryRequest => {
  const types = new Set((pod.spec?.containers ?? []).flatMap(container => [...requestOf(container).keys()]));
  return new Map([...types].map(type => [type, neededAtOnce(pod, container => requestOf(container).get(type) ?? 0)]));
};

/** Allocates memory. */
export class MemoryManager implements HintProvider {
  readonly #parts: MemoryManagerParts;
  #state: MemoryState;
  /** The memory of ended init containers that the pod admitted last may use again, by the nodes and the type. */
  #reusable: {readonly uid: string; readonly bytes: Map<string, number>} = {uid: '', bytes: new Map()};

  constructor(parts: MemoryManagerParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#save();
  }

  /** What containers can have of each NUMA node, whether they have it or not. */
  get allocatable(): readonly MemoryBlock[] {
    if (this.#parts.policy === 'None') return [];
    return [...this.#state.machine].flatMap(([node, {tables}]) =>
      [...tables].flatMap(([type, {allocatable}]) => (allocatable > 0 ? [{nodes: [node], type, bytes: allocatable}] : [])),
    );
  }

  /** Returns the memory of NUMA nodes that a container has. */
  blocksOf(uid: string, container: string): readonly MemoryBlock[] {
    return this.#state.assignments.get(uid)?.get(container) ?? [];
  }

  /** Returns the NUMA nodes of a container; none if it may use all. */
  nodesOf(uid: string, container: string): readonly number[] {
    return [...new Set(this.blocksOf(uid, container).flatMap(({nodes}) => nodes))].sort((a, b) => a - b);
  }

  containerHints(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ResourceHints | undefined {
    if (!this.#isManaged(pod)) return undefined;
    const blocks = this.#blocksOf(pod, container);
    return blocks ? hintsOfBlocks(blocks, requestOf(container)) : this.#hints(pod, requestOf(container));
  }

  podHints(pod: Frozen<Pod>): ResourceHints | undefined {
    if (!this.#isManaged(pod)) return undefined;
    const request = podRequestOf(pod);
    const blocks = allocatedContainers(pod).flatMap(container => {
      const found = this.#blocksOf(pod, container);
      return found ? [found] : [];
    })[0];
    return blocks ? hintsOfBlocks(blocks, request) : this.#hints(pod, request);
  }

  #hints(pod: Frozen<Pod>, request: MemoryRequest): ResourceHints {
    const hints = this.#possible(pod, request);
    return hints.length > 0 ? Object.fromEntries([...request.keys()].map(type => [type, hints])) : {};
  }

  #possible(pod: Frozen<Pod>, request: MemoryRequest): readonly MemoryHint[] {
    return memoryHints(this.#state.machine, request, (mask, type) => this.#reusableOn(pod, mask, type));
  }

  allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, hint: TopologyHint): void {
    if (!this.#isManaged(pod)) return;
    const {metrics} = this.#parts;
    metrics.memoryPinnings.add();
    try {
      this.#allocate(pod, container, hint);
    } catch (error) {
      metrics.memoryPinningErrors.add();
      throw error instanceof AllocationError ? error : failed(messageOf(error));
    }
  }

  #allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, hint: TopologyHint): void {
    const present = this.#blocksOf(pod, container);
    if (present) return this.#reuse(pod, container, present);
    const request = requestOf(container);
    const affinity = this.#affinityFor(pod, request, hint);
    const nodes = nodesOf(affinity);
    if (excludesGroup(this.#state.machine, nodes)) throw failed('preferred hint violates NUMA node allocation');
    let {machine} = this.#state;
    const blocks = [...request].map(([type, bytes]): MemoryBlock => {
      machine = withTaken(machine, {nodes, type}, Math.max(0, bytes - this.#reusableOn(pod, affinity, type)));
      return {nodes, type, bytes};
    });
    this.#reuse(pod, container, blocks);
    this.#state = withReuse(withBlocks({...this.#state, machine}, pod.metadata?.uid ?? '', container.name, blocks), pod, container, blocks);
    this.#save();
  }

  /** Returns the nodes of the hint, or more nodes if the memory does not fit on these. */
  #affinityFor(pod: Frozen<Pod>, request: MemoryRequest, hint: TopologyHint): NumaMask {
    let best = hint;
    if (best.affinity === undefined) {
      const found = bestHint(this.#possible(pod, request));
      if (!found) throw failed('failed to get the default NUMA affinity, no NUMA nodes with enough memory is available');
      if (!found.isPreferred && hint.isPreferred) throw failed('failed to find the default preferred hint');
      best = found;
    }
    const affinity = best.affinity ?? 0n;
    const nodes = nodesOf(affinity);
    if ([...request].every(([type, bytes]) => freeOn(this.#state.machine, nodes, type) >= bytes)) return affinity;
    const wider = bestHint(this.#possible(pod, request).filter(each => (each.affinity & affinity) === affinity));
    if (!wider) throw failed('failed to find NUMA nodes to extend the current topology hint');
    if (!wider.isPreferred && best.isPreferred) throw failed('failed to find the extended preferred hint');
    return wider.affinity;
  }

  /** Called before a container is created: init containers that were to end before it have ended. */
  creating(pod: Frozen<Pod>, {name}: Frozen<AnyContainer>): void {
    const before = this.#state;
    const initContainers = pod.spec?.initContainers ?? [];
    const at = initContainers.findIndex(init => init.name === name);
    for (const init of at < 0 ? initContainers : initContainers.slice(0, at))
      if (!isSidecar(init)) this.#state = withoutBlocks(this.#state, pod.metadata?.uid ?? '', init.name);
    if (this.#state !== before) this.#save();
  }

  retain(pods: readonly Frozen<Pod>[]): void {
    const before = this.#state;
    for (const [uid, name] of leftContainers(before.assignments, pods)) this.#state = withoutBlocks(this.#state, uid, name);
    if (this.#state !== before) this.#save();
  }

  #isManaged(pod: Frozen<Pod>): boolean {
    const {policy, withPodLevel} = this.#parts;
    return policy === 'Static' && podQosClass(pod as Pod) === 'Guaranteed' && !(withPodLevel && hasPodResources(pod));
  }

  #blocksOf({metadata}: Frozen<Pod>, {name}: Frozen<AnyContainer>): readonly MemoryBlock[] | undefined {
    return this.#state.assignments.get(metadata?.uid ?? '')?.get(name);
  }

  #reusableOn({metadata}: Frozen<Pod>, mask: NumaMask, type: string): number {
    return this.#reusable.uid === metadata?.uid ? (this.#reusable.bytes.get(`${mask} ${type}`) ?? 0) : 0;
  }

  /** Notes what the next containers of the pod may use again: the memory of init containers that end before. */
  #reuse(pod: Frozen<Pod>, container: Frozen<AnyContainer>, blocks: readonly MemoryBlock[]): void {
    const uid = pod.metadata?.uid ?? '';
    if (this.#reusable.uid !== uid) this.#reusable = {uid, bytes: new Map()};
    const ends = endsBeforeNext(pod, container);
    for (const {nodes, type, bytes} of blocks) {
      const before = this.#reusableOn(pod, maskOf(nodes), type);
      this.#reusable.bytes.set(`${maskOf(nodes)} ${type}`, ends ? Math.max(before, bytes) : Math.max(0, before - bytes));
    }
  }

  #save(): void {
    this.#parts.file.write(formatMemoryState(this.#parts.policy, this.#state));
  }
}
