// The resource managers of a node, as admission and the creation of containers use them.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isPending} from '#src/base/eventually.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import type {CpuManager} from '#src/platlet/cpu-manager/manager.js';
import type {ClaimStage} from '#src/platlet/dra/open.js';
import type {ContainerOptions} from '#src/platlet/inputs/container-options.js';
import type {DeviceStage} from '#src/platlet/device-manager/open.js';
import type {AssignedToContainers} from '#src/platlet/inputs/pod-configs.js';
import type {AssignedResources} from '#src/platlet/inputs/resources.js';
import type {Reserved} from '#src/platlet/pod/admission/managers.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import type {MemoryManager} from '#src/platlet/memory-manager/manager.js';
import {formatCpuSet} from '#src/platlet/topology/cpuset.js';
import type {HintProvider} from '#src/platlet/topology-manager/hints.js';
import {allocatedContainers} from '#src/platlet/pod/allocated-containers.js';
import type {TopologyManager} from '#src/platlet/topology-manager/manager.js';
import type {PodSources} from '#src/platlet/sources/pod-sources.js';

export interface ResourceManagersParts {
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  /** What plugins on the node provide. */
  readonly plugged: {readonly devices: DeviceStage; readonly claims: ClaimStage};
  readonly topology: TopologyManager;
  readonly providers: readonly HintProvider[];
  readonly files: readonly Pick<CheckpointFile, 'saved'>[];
  /** Whether exclusive CPUs are used without a quota. */
  readonly dropsQuota: boolean;
  readonly sources: Pick<PodSources, 'isReady'>;
}

/** The resource managers of a node. */
export class ResourceManagers implements AssignedToContainers {
  readonly #parts: ResourceManagersParts;
  /** The pods whose resources are being allocated. */
  readonly #reserving = new Set<Frozen<Pod>>();

  constructor(parts: ResourceManagersParts) {
    this.#parts = parts;
  }

  get cpus(): CpuManager {
    return this.#parts.cpus;
  }

  get memory(): MemoryManager {
    return this.#parts.memory;
  }

  get devices(): DeviceStage {
    return this.#parts.plugged.devices;
  }

  get claims(): ClaimStage {
    return this.#parts.plugged.claims;
  }

  /** Allocates the resources of a pod, at once unless plugins take part. Returns why they cannot be allocated. */
  reserve(pod: Frozen<Pod>, active: readonly Frozen<Pod>[]): Reserved {
    this.release([...active, pod]);
    const reserved = this.#parts.topology.admit(pod);
    if (!isPending(reserved)) return reserved;
    this.#reserving.add(pod);
    return reserved.finally(() => this.#reserving.delete(pod));
  }

  /** The numbers of devices that count as allocatable for a pod that has devices, by resource. */
  heldBeside(pod: Frozen<Pod>): ReadonlyMap<string, number> {
    return this.devices.manager.heldBeside(pod);
  }

  /** Returns the health of the devices of a container, by resource and by claim. */
  healthOf(pod: Frozen<Pod>, container: string): readonly ResourceStatus[] {
    const {devices: plugins, claims} = this.#parts.plugged;
    return [...plugins.manager.healthOf(pod.metadata?.uid ?? '', container), ...claims.health.of(pod, container)];
  }

  async optionsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<ContainerOptions> {
    const {devices, claims} = this.#parts.plugged;
    const cdiDevices = claims.manager.cdiIdsOf(pod, container);
    const options = await devices.manager.optionsOf(pod, container);
    return {...options, cdiDevices: [...cdiDevices, ...options.cdiDevices]};
  }

  /** Releases the resources of other pods than these, once all pods of the node are known. */
  release(active: readonly Frozen<Pod>[]): void {
    if (!this.#parts.sources.isReady) return;
    for (const provider of this.#parts.providers) provider.retain([...active, ...this.#reserving]);
  }

  isUnthrottled(pod: Frozen<Pod>): boolean {
    return allocatedContainers(pod).some(container => this.#isUnthrottled(pod, container));
  }

  async creating(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<void> {
    this.#parts.memory.creating(pod, container);
    for (const file of this.#parts.files) await file.saved();
  }

  assignedTo(pod: Frozen<Pod>, container: Frozen<AnyContainer>): AssignedResources {
    const {cpus, memory} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    return {
      cpus: formatCpuSet(cpus.affinityOf(uid, container.name)),
      memoryNodes: memory.nodesOf(uid, container.name).join(','),
      isUnthrottled: this.#isUnthrottled(pod, container),
    };
  }

  #isUnthrottled({metadata}: Frozen<Pod>, {name}: Frozen<AnyContainer>): boolean {
    const {cpus, dropsQuota} = this.#parts;
    return dropsQuota && cpus.exclusiveOf(metadata?.uid ?? '', name).size > 0;
  }
}
