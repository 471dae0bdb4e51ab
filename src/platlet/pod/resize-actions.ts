// What is to be done so that a pod runs with the resources that are allocated to it: a pure function of the pod, what
// the runtime has of it, and what its containers were created or updated with.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {
  cpuAndMemoryOf,
  limitsWithin,
  sameCpuAndMemory,
  type CpuAndMemory,
  type PodResources,
  type Requirements,
} from '#src/platlet/pod/resources/pod-resources.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import {latestOf} from './instances.js';

/** What a resize depends on beside the pod, whose resources are those that are allocated. */
export interface ResizeInputs {
  /** What the containers were created or updated with; undefined if nothing is known. */
  readonly actuated: PodResources | undefined;
  /** Whether the resources of the pod itself can be resized. */
  readonly podLevel: boolean;
}

/** A running container that is to have other resources. */
export interface ContainerUpdate {
  readonly container: Frozen<AnyContainer>;
  readonly instance: ContainerInstance;
  readonly desired: CpuAndMemory;
  readonly current: CpuAndMemory;
}

export type Resizable = 'cpu' | 'memory';

/** What is to be resized. */
export interface PodResize {
  /** The containers to update, by resource: those that get less come first. */
  readonly updates: Readonly<Record<Resizable, readonly ContainerUpdate[]>>;
  /** Whether containers are started again for it. */
  readonly restarts: boolean;
  /** Whether the resources of the pod itself are others. */
  readonly whole: boolean;
}

/** Whether there is anything to resize. */
export const isResize = ({updates, restarts, whole}: PodResize): boolean =>
  restarts || whole || updates.cpu.length > 0 || updates.memory.length > 0;

/** Returns the resources of a container with the limits that it has of its pod, where these can be resized. */
export const effectiveResources = (pod: Frozen<Pod>, {resources = {}}: Frozen<AnyContainer>, podLevel: boolean): Requirements =>
  podLevel ? {...resources, limits: limitsWithin(pod.spec?.resources, resources)} : resources;

/** The text of the kill of a container that cannot be resized while it runs. */
export const resizeText = ({name}: Frozen<AnyContainer>): string => `Container ${name} resize requires restart`;

const restartsFor = (container: Frozen<AnyContainer>, resource: Resizable): boolean =>
  'resizePolicy' in container &&
  container.resizePolicy?.find(({resourceName}) => resourceName === resource)?.restartPolicy === 'RestartContainer';

const requestOf = {cpu: 'cpuRequest', memory: 'memoryRequest'} as const;
const limitOf = {cpu: 'cpuLimit', memory: 'memoryLimit'} as const;

/** Collects what is to be resized of a pod, container by container. */
export class ResizePlan {
  readonly #pod: Frozen<Pod>;
  readonly #inputs: ResizeInputs | undefined;
  readonly #updates: Record<Resizable, ContainerUpdate[]> = {cpu: [], memory: []};
  #restarts = false;

  /** Without inputs nothing is resized. */
  constructor(pod: Frozen<Pod>, inputs: ResizeInputs | undefined) {
    this.#pod = pod;
    this.#inputs = inputs;
  }

  /** Adds a running container. Returns whether it runs on; if not, it is to be started again. */
  keeps(container: Frozen<AnyContainer>, instance: ContainerInstance): boolean {
    if (!this.#inputs) return true;
    const {actuated, podLevel} = this.#inputs;
    const own = actuated?.containers[container.name] ?? {};
    const desired = cpuAndMemoryOf(effectiveResources(this.#pod, container, podLevel));
    const current = cpuAndMemoryOf(podLevel ? {...own, limits: limitsWithin(actuated?.pod, own)} : own);
    const differs = (member: keyof CpuAndMemory): boolean => desired[member] !== current[member];
    const changed = (['memory', 'cpu'] as const).filter(resource => differs(limitOf[resource]) || differs(requestOf[resource]));
    if (changed.some(resource => restartsFor(container, resource))) {
      this.#restarts = true;
      return false;
    }
    for (const resource of changed) {
      const member = differs(limitOf[resource]) ? limitOf[resource] : requestOf[resource];
      const update = {container, instance, desired, current};
      if (desired[member] > current[member]) this.#updates[resource].push(update);
      else this.#updates[resource].unshift(update);
    }
    return true;
  }

  /** What was collected. `isWhole`: whether all containers of the pod were looked at. */
  result(isWhole: boolean): PodResize {
    const inputs = this.#inputs;
    const whole =
      isWhole &&
      inputs?.podLevel === true &&
      !sameCpuAndMemory(cpuAndMemoryOf(this.#pod.spec?.resources), cpuAndMemoryOf(inputs.actuated?.pod));
    return {updates: this.#updates, restarts: this.#restarts, whole};
  }
}

/** Whether containers run with other resources than those that are allocated to them, or the pod does. */
export const isResizing = (pod: Frozen<Pod>, runtime: RuntimePod, {actuated, podLevel}: ResizeInputs): boolean => {
  const {containers, initContainers = [], resources} = pod.spec!;
  const differs = (container: Frozen<AnyContainer>): boolean =>
    latestOf(runtime, container.name)?.state === 'running' &&
    !sameCpuAndMemory(cpuAndMemoryOf(effectiveResources(pod, container, podLevel)), cpuAndMemoryOf(actuated?.containers[container.name]));
  if ([...containers, ...initContainers.filter(isSidecar)].some(differs)) return true;
  // A pod of which nothing runs yet gets its cgroup with what is allocated.
  const hasRun = runtime.containers.some(({state}) => state === 'running');
  return podLevel && hasRun && resources !== undefined && !sameCpuAndMemory(cpuAndMemoryOf(resources), cpuAndMemoryOf(actuated?.pod));
};
