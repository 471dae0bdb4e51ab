// Gives a running pod the resources that are allocated to it: those that grow before those that shrink, of the pod's
// group and its containers, so that no container may ever have more than its pod.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {effectiveResources, isResizing, type PodResize, type Resizable, type ResizeInputs} from '#src/platlet/pod/resize-actions.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import type {ContainerInputs} from '#src/platlet/pod/container-statuses.js';
import type {StatusInputs} from '#src/platlet/pod/status.js';
import {reportedPodResources, reportedResources} from '#src/platlet/resize/actual-resources.js';
import {memoryProblem} from '#src/platlet/pod/resources/memory-check.js';
import {completedMessage, errorMessage} from '#src/platlet/pod/resources/messages.js';
import {withAmountsOf, type Requirements} from '#src/platlet/pod/resources/pod-resources.js';
import type {ContainerResources} from '#src/platlet/runtime/configs.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import {recordEvent, type WorkerParts} from './parts.js';

const generationOf = ({metadata}: Frozen<Pod>): number => metadata?.generation ?? 0;

/** Resizes one pod, and tells how far that is. */
export class PodResizer {
  readonly #parts: WorkerParts;
  readonly #uid: string;
  /** The limits of the pod's group; only where the resources of pods can be resized. */
  #limits: ActualResources | undefined;

  constructor(parts: WorkerParts, uid: string) {
    this.#parts = parts;
    this.#uid = uid;
  }

  get #inputs(): ResizeInputs {
    const {actuated, podLevel} = this.#parts.ports.resizes;
    return {actuated: actuated.get(this.#uid), podLevel};
  }

  /** Returns what the actions on a pod depend on; undefined for one that cannot be resized. */
  inputsFor(pod: Frozen<Pod>): ResizeInputs | undefined {
    return isStaticPod(this.#parts.node.naming, pod) ? undefined : this.#inputs;
  }

  /** Called when the group of a pod was created with what is allocated to it. */
  async noteGroup({spec}: Frozen<Pod>): Promise<void> {
    const {requests, limits} = spec?.resources ?? {};
    if (requests ?? limits) await this.#parts.ports.resizes.actuated.setPod(this.#uid, spec!.resources!);
  }

  /** Called before a container is created with what is allocated to it. */
  async noteContainer(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<void> {
    const {actuated, podLevel} = this.#parts.ports.resizes;
    await actuated.setContainer(this.#uid, container.name, effectiveResources(pod, container, podLevel));
  }

  /** Notes whether a pod is still being resized, and what it has. */
  async observe(pod: Frozen<Pod>, runtime: RuntimePod): Promise<void> {
    const {cgroups, resizes} = this.#parts.ports;
    const {conditions, podLevel} = resizes;
    if (podLevel) this.#limits = await cgroups.limitsOf(pod);
    if (isResizing(pod, runtime, this.#inputs)) return void conditions.setInProgress(this.#uid, generationOf(pod));
    const generation = conditions.clear(this.#uid, 'progress');
    if (generation !== undefined) recordEvent(this.#parts, pod, ['Normal', 'ResizeCompleted', completedMessage(pod, generation)]);
  }

  /** Returns what the status of a pod shows of its resources and of its resizes. */
  statusOf(
    pod: Frozen<Pod>,
    stage: StatusInputs['stage'],
  ): Pick<StatusInputs, 'resize' | 'podResources'> & Pick<ContainerInputs, 'resourcesOf'> {
    const {conditions, podLevel} = this.#parts.ports.resizes;
    const actuated = this.#inputs.actuated?.containers;
    return {
      resize: stage === 'finished' ? [] : conditions.statesOf(this.#uid),
      podResources: podLevel ? reportedPodResources(pod, this.#limits, this.#parts.statuses.statusOf(this.#uid)) : undefined,
      resourcesOf({container}, latest, before) {
        const {requests} = container.resources ?? {};
        const resources = reportedResources(container, latest, actuated?.[container.name], before);
        return {resources: resources as {}, ...(requests ? {allocatedResources: {...requests}} : {})};
      },
    };
  }

  /** Applies what is to be resized. Returns whether that succeeded: if not, it is to be tried again. */
  async apply(pod: Frozen<Pod>, resize: PodResize, sandbox: string): Promise<boolean> {
    const {clock, ports} = this.#parts;
    const {conditions, metrics} = ports.resizes;
    const since = clock.monotonic();
    const error = await this.#apply(pod, resize, sandbox).then(() => undefined, messageOf);
    metrics.resizeDuration.observe(clock.monotonic() - since, {success: String(error === undefined)});
    if (error === undefined) return true;
    this.#parts.telemetry.log.warn({pod: pod.metadata?.name, err: error}, 'failed to resize a pod');
    const generation = conditions.setInProgress(this.#uid, generationOf(pod), error);
    if (generation !== undefined) recordEvent(this.#parts, pod, ['Warning', 'ResizeError', errorMessage(pod, generation, error)]);
    return false;
  }

  async #apply(pod: Frozen<Pod>, resize: PodResize, sandbox: string): Promise<void> {
    const {cgroups} = this.#parts.ports;
    const {updates, restarts, whole} = resize;
    const current = cgroups.hasLimits ? await cgroups.limitsOf(pod) : undefined;
    if (cgroups.hasLimits && !current) throw new Error('unable to get the cgroup config of the pod');
    const desired = cgroups.hasLimits ? cgroups.limitsFor(pod) : {};
    if (updates.memory.length > 0 || restarts) await this.#checkMemory(pod, resize, desired, current);
    for (const resource of ['memory', 'cpu'] as const)
      if (updates[resource].length > 0 || restarts || whole)
        await new ResourceResize(this.#parts, {pod, resize, resource, sandbox, desired, current}).run();
  }

  async #checkMemory(
    pod: Frozen<Pod>,
    {updates}: PodResize,
    {memoryBytes}: CgroupLimits,
    current: ActualResources | undefined,
  ): Promise<void> {
    const {cgroups} = this.#parts.ports;
    const shrinking = updates.memory.filter(
      ({desired: {memoryLimit: to}, current: {memoryLimit: from}}) => to > 0 && (from === 0 || to < from),
    );
    const podLimit = memoryBytes !== undefined && memoryBytes < (current?.memoryLimitBytes ?? Infinity) ? memoryBytes : undefined;
    if (podLimit === undefined && shrinking.length === 0) return;
    const containers = await Promise.all(
      shrinking.map(async ({instance: {id, name}, desired}) => ({
        name,
        limit: desired.memoryLimit,
        usage: await cgroups.memoryOf(pod, id),
      })),
    );
    const problem = memoryProblem({limit: podLimit, usage: await cgroups.memoryOf(pod)}, containers);
    if (problem !== undefined) throw new Error(`cannot decrease memory limits: ${problem}`);
  }
}

/** What is to be resized of one resource of a pod. */
interface ResizeTask {
  readonly pod: Frozen<Pod>;
  readonly resize: PodResize;
  readonly resource: Resizable;
  readonly sandbox: string;
  /** Of the pod's group. */
  readonly desired: CgroupLimits;
  readonly current: ActualResources | undefined;
}

/** The resize of one resource of a pod. */
class ResourceResize {
  readonly #parts: WorkerParts;
  readonly #task: ResizeTask;

  constructor(parts: WorkerParts, task: ResizeTask) {
    this.#parts = parts;
    this.#task = task;
  }

  async run(): Promise<void> {
    const {limit, request} = this.#changes();
    // A limit is never below the request: it grows before it, and shrinks after it.
    if (limit > 0) await this.#changeGroup('limit');
    if (request > 0) await this.#changeGroup('request');
    for (const update of this.#task.resize.updates[this.#task.resource]) await this.#update(update);
    if (request < 0) await this.#changeGroup('request');
    if (limit < 0) await this.#changeGroup('limit');
    await this.#noteWhole();
  }

  /** By how much the limits and requests of the pod's group change. Limits that the pod has no more stay. */
  #changes(): {readonly limit: number; readonly request: number} {
    const {resource, desired, current} = this.#task;
    if (!current) return {limit: 0, request: 0};
    const difference = (to: number | undefined, from: number): number => (to === undefined || to === from ? 0 : to > from ? 1 : -1);
    if (resource === 'memory') return {limit: difference(desired.memoryBytes, current.memoryLimitBytes ?? Infinity), request: 0};
    const quota = desired.cpuQuota === 0 ? undefined : desired.cpuQuota;
    return {
      // No limit is written as -1, which any limit exceeds.
      limit: difference(quota, current.cpuQuota ?? -1),
      request: difference(desired.cpuShares, current.cpuShares ?? 0),
    };
  }

  async #changeGroup(part: 'limit' | 'request'): Promise<void> {
    const {pod, resource, sandbox, desired, current} = this.#task;
    const {cgroups, configs, runtime} = this.#parts.ports;
    const changed = changedLimits(resource, part, desired);
    await cgroups.change(pod, changed);
    try {
      await runtime.updateSandboxResources(sandbox, configs.sandboxUpdate(pod, toldOf(current, changed)));
    } catch (error) {
      // Only a hint: the group has its limits.
      if (!(error instanceof RuntimeError && error.kind === 'unimplemented'))
        this.#parts.telemetry.log.warn({sandbox, err: error}, 'the runtime was not told of the resources of a pod');
    }
  }

  /** Notes that the pod's group has what is allocated of the resource. */
  async #noteWhole(): Promise<void> {
    const {pod, resource} = this.#task;
    const {actuated, podLevel} = this.#parts.ports.resizes;
    const {uid = ''} = pod.metadata ?? {};
    const own = pod.spec?.resources;
    if (podLevel && own) await actuated.setPod(uid, withAmountsOf(own, actuated.get(uid)?.pod ?? {}, resource));
  }

  async #update({container, instance}: PodResize['updates']['cpu'][number]): Promise<void> {
    const {pod, resource} = this.#task;
    const {runtime, configs, resizes} = this.#parts.ports;
    const {actuated, podLevel} = resizes;
    const {uid = ''} = pod.metadata ?? {};
    // Of the other resource the container keeps what it has.
    const before: Requirements = actuated.get(uid)?.containers[container.name] ?? {};
    const wanted = effectiveResources(pod, container, podLevel);
    const resources = withAmountsOf(wanted, before, resource);
    await runtime.updateResources(instance.id, configs.resources(pod, {...container, resources: resources as {}}));
    await actuated.setContainer(uid, container.name, resources);
  }
}

const changedLimits = (resource: Resizable, part: 'limit' | 'request', desired: CgroupLimits): CgroupLimits => {
  const {cpuShares, cpuQuota, cpuPeriod, memoryBytes} = desired;
  if (resource === 'memory') return {memoryBytes: memoryBytes!};
  return part === 'limit' ? {cpuQuota: cpuQuota!, cpuPeriod: cpuPeriod!} : {cpuShares: cpuShares!};
};

/** The limits of a pod's group as a runtime is told of them. */
const toldOf = (
  {cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes}: ActualResources = {},
  {memoryBytes = memoryLimitBytes, ...changed}: CgroupLimits,
): ContainerResources => {
  const told = {cpuShares, cpuQuota, cpuPeriod, ...changed, memoryLimitBytes: memoryBytes};
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
};
