// Executes the actions of a sync: sandbox, container starts and container kills.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';
import type {ContainerToKill, PodActions} from '#src/platlet/pod/action-types.js';
import {computeActions, isDefinitionChanged} from '#src/platlet/pod/actions.js';
import type {WaitingReason} from '#src/platlet/pod/container-statuses.js';
import {superseded} from '#src/platlet/pod/garbage.js';
import {runsOf} from '#src/platlet/pod/instances.js';
import {containerGraceSeconds, podGraceSeconds} from '#src/platlet/pod/kill.js';
import {WaitingError} from '#src/platlet/pod/ports.js';
import type {SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {ImageVolumes} from './image-volumes.js';
import {PodKill} from './kill-pod.js';
import {addressesOf, oneOfEachFamily} from './observation.js';
import {recordEvent, type WorkerParts} from './parts.js';
import {BackingOff, ContainerStarter, type StartPlace} from './start-container.js';
import type {PodResizer} from './resize-pod.js';
import {ContainerStop} from './stop-container.js';
import {removeRun} from './remove-run.js';

/** The result of a sync. */
export interface RunResult {
  /** Whether something was started or killed, so that the state has changed. */
  readonly hasActed: boolean;
  /** Whether the waiting reason of a container has changed. */
  readonly waitsOtherwise?: boolean;
  /** The end of the shortest container backoff, in ms since the epoch. */
  readonly retryAt?: number;
  /** Whether something failed and has to be retried. */
  readonly hasFailed: boolean;
  /** Whether an init container did not start, which those after it wait for. */
  readonly isBlocked?: boolean;
}

const joined = (a: RunResult, b: RunResult): RunResult => {
  const retryAt = Math.min(a.retryAt ?? Infinity, b.retryAt ?? Infinity);
  return {
    hasActed: a.hasActed || b.hasActed,
    hasFailed: a.hasFailed || b.hasFailed,
    waitsOtherwise: a.waitsOtherwise === true || b.waitsOtherwise === true,
    ...(retryAt < Infinity ? {retryAt} : {}),
  };
};

/** Executes the syncs of one pod. */
export class PodRunner {
  readonly #parts: WorkerParts;
  readonly #starter: ContainerStarter;
  readonly #resizer: PodResizer;
  /** The waiting reasons of containers, by name. */
  readonly waiting = new Map<string, WaitingReason>();

  constructor(parts: WorkerParts, resizer: PodResizer) {
    this.#parts = parts;
    this.#resizer = resizer;
    this.#starter = new ContainerStarter(parts, resizer);
  }

  /** Executes the actions. Rejects if the sandbox cannot be created, or the signal aborts. */
  async run(pod: Frozen<Pod>, runtime: RuntimePod, cgroupParent: string, signal: AbortSignal): Promise<RunResult> {
    const {node, handlers} = this.#parts;
    const resize = this.#resizer.inputsFor(pod);
    const actions = computeActions(pod, {
      runtime,
      probes: handlers.prober.resultsOf(pod.metadata?.uid ?? ''),
      gates: node.gates,
      isChanged: isDefinitionChanged,
      ...(resize ? {resize} : {}),
    });
    const hasKilled = await unlessAborted(this.#kill(pod, runtime, actions), signal);
    if (actions.killPod && !actions.createSandbox) return {hasActed: hasKilled, hasFailed: false};
    await this.#removeOld(pod, runtime, actions);
    for (const run of superseded(runtime, node.garbage)) await removeRun(this.#parts.ports, run);
    const due = dueContainers(pod, actions);
    if (due.length === 0 && !actions.createSandbox) return this.#resize(pod, actions, {hasActed: hasKilled, hasFailed: false});
    if (actions.createSandbox && !(await this.#prepareClaims(pod, signal))) return {hasActed: hasKilled, hasFailed: false};
    const place = actions.createSandbox
      ? await this.#createSandbox(pod, actions.attempt, cgroupParent)
      : await this.#place(pod, runtime, actions, cgroupParent);
    signal.throwIfAborted();
    const before = actions.createSandbox ? {...runtime, sandboxes: []} : runtime;
    const isRegular = ({role}: SpecContainer): boolean => role === 'regular';
    const first = due.filter(of => !isRegular(of));
    const at = {...place, imageVolumes: new ImageVolumes(this.#parts.ports.images, signal), signal};
    const started = await this.#start(pod, first, at, before);
    // Regular containers wait for the init containers before them.
    const rest = started.isBlocked ? [] : due.filter(isRegular);
    const resized = started.isBlocked ? started : await this.#resize(pod, actions, started);
    const result = joined(resized, await this.#start(pod, rest, at, before));
    if (actions.createSandbox && result.hasFailed && pod.spec?.hostUsers === false)
      this.#parts.telemetry.metrics.userNamespacedPodErrors.add();
    return {...result, hasActed: result.hasActed || hasKilled || actions.createSandbox};
  }

  /** Resizes what runs on, and adds that to what was done before. */
  async #resize(pod: Frozen<Pod>, {resize, sandbox = ''}: PodActions, before: RunResult): Promise<RunResult> {
    if (!resize) return before;
    const isDone = await this.#resizer.apply(pod, resize, sandbox);
    return joined(before, {hasActed: true, hasFailed: !isDone});
  }

  async #kill(pod: Frozen<Pod>, runtime: RuntimePod, actions: PodActions): Promise<boolean> {
    if (actions.killPod || actions.restartAll) {
      if (actions.createSandbox && actions.sandbox)
        recordEvent(this.#parts, pod, ['Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.']);
      const target = actions.restartAll ? {...runtime, sandboxes: []} : runtime;
      if (target.containers.some(({state}) => state === 'running') || target.sandboxes.some(({isReady}) => isReady))
        await new PodKill(this.#parts, pod, target, podGraceSeconds(pod)).done;
      return true;
    }
    const addresses = addressesOf(pod, runtime, this.#parts.node.addresses);
    await Promise.all(actions.toKill.map(kill => this.#killOne(pod, kill, addresses)));
    return actions.toKill.length > 0;
  }

  #killOne(pod: Frozen<Pod>, {instance, container, message, reason}: ContainerToKill, addresses: readonly string[]): Promise<void> {
    const graceSeconds = containerGraceSeconds(pod, container, reason);
    return new ContainerStop(this.#parts, {pod, instance, container, message, graceSeconds, addresses}).done;
  }

  /** Init containers run again in a new sandbox; of their earlier runs only the last is kept. */
  async #removeOld(pod: Frozen<Pod>, runtime: RuntimePod, {createSandbox, restartAll, initContainers}: PodActions): Promise<void> {
    const {ports} = this.#parts;
    const remove = async (name: string, keep: number): Promise<void> => {
      for (const each of runsOf(runtime, name).slice(keep)) if (restartAll || each.state !== 'running') await removeRun(ports, each);
    };
    if (restartAll) for (const {container} of specContainers(pod.spec!)) await remove(container.name, 0);
    else for (const name of initContainers) await remove(name, createSandbox ? 0 : 1);
    if (createSandbox) for (const {name} of pod.spec?.initContainers ?? []) if (!initContainers.includes(name)) await remove(name, 0);
  }

  /** Returns whether the claims of a pod are prepared. If not, that is tried again with the next periodic sync. */
  async #prepareClaims(pod: Frozen<Pod>, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#parts.ports.resourceClaims?.prepare(pod, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      recordEvent(this.#parts, pod, [
        'Warning',
        'FailedPrepareDynamicResources',
        `Failed to prepare dynamic resources: ${messageOf(error)}`,
      ]);
      return false;
    }
  }

  async #createSandbox(pod: Frozen<Pod>, attempt: number, cgroupParent: string): Promise<Omit<StartPlace, 'signal' | 'imageVolumes'>> {
    const {node} = this.#parts;
    const {configs, runtime} = this.#parts.ports;
    const {metrics} = this.#parts.telemetry;
    metrics.startedPods.add();
    if (pod.spec?.hostUsers === false) metrics.startedUserNamespacedPods.add();
    metrics.containersPerPod.observe([...specContainers(pod.spec!)].length);
    try {
      const {config, handler} = await configs.sandbox(pod, attempt, cgroupParent);
      await this.#removeLeftovers(config.pod.uid, attempt);
      const id = await this.#runSandbox(config, handler);
      const {addresses} = await runtime.sandboxStatus(id);
      return {id, config, addresses: pod.spec?.hostNetwork ? node.addresses : oneOfEachFamily(node.addresses, addresses)};
    } catch (error) {
      metrics.podErrors.add();
      if (pod.spec?.hostUsers === false) metrics.userNamespacedPodErrors.add();
      recordEvent(this.#parts, pod, ['Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${messageOf(error)}`]);
      throw error;
    }
  }

  async #runSandbox(config: SandboxConfig, handler: string): Promise<string> {
    const {clock} = this.#parts;
    const {runtime} = this.#parts.ports;
    const {metrics} = this.#parts.telemetry;
    const labels = {runtime_handler: handler};
    const since = clock.monotonic();
    try {
      return await runtime.runSandbox(config, handler);
    } catch (error) {
      metrics.sandboxErrors.add(labels);
      throw error;
    } finally {
      metrics.sandboxDuration.observe((clock.monotonic() - since) / 1000, labels);
    }
  }

  /** A sandbox whose creation was aborted may exist nevertheless, and occupies the name. */
  async #removeLeftovers(uid: string, attempt: number): Promise<void> {
    const {runtime} = this.#parts.ports;
    const {sandboxes} = await runtime.podStatus(uid);
    for (const sandbox of sandboxes) {
      if (sandbox.attempt !== attempt) continue;
      await runtime.stopSandbox(sandbox.id);
      await runtime.removeSandbox(sandbox.id);
    }
  }

  async #place(
    pod: Frozen<Pod>,
    runtime: RuntimePod,
    {attempt, sandbox = ''}: PodActions,
    cgroupParent: string,
  ): Promise<Omit<StartPlace, 'signal' | 'imageVolumes'>> {
    const {config} = await this.#parts.ports.configs.sandbox(pod, attempt, cgroupParent);
    return {id: sandbox, config, addresses: addressesOf(pod, runtime, this.#parts.node.addresses)};
  }

  async #start(pod: Frozen<Pod>, due: readonly SpecContainer[], place: StartPlace, runtime: RuntimePod): Promise<RunResult> {
    let hasActed = false;
    let hasFailed = false;
    let waitsOtherwise = false;
    let retryAt = Infinity;
    let isBlocked = false;
    for (const of of due) {
      place.signal.throwIfAborted();
      const {name} = of.container;
      try {
        await this.#starter.start(pod, of, place, runtime);
        this.waiting.delete(name);
        hasActed = true;
      } catch (error) {
        place.signal.throwIfAborted();
        const {reason, message} = error instanceof WaitingError ? error : new WaitingError('RunContainerError', messageOf(error));
        const before = this.waiting.get(name);
        waitsOtherwise ||= before?.reason !== reason || before.message !== message;
        this.waiting.set(name, {reason, message});
        if (error instanceof BackingOff) retryAt = Math.min(retryAt, error.until);
        else hasFailed = true;
        isBlocked = of.role === 'init' || of.role === 'sidecar';
        if (isBlocked) break;
      }
    }
    return {hasActed, hasFailed, waitsOtherwise, isBlocked, ...(retryAt < Infinity ? {retryAt} : {})};
  }
}

/** Returns the containers to start, in order. */
const dueContainers = (pod: Frozen<Pod>, {ephemeral, initContainers, containers}: PodActions): SpecContainer[] => {
  const known = new Map([...specContainers(pod.spec!)].map(of => [of.container.name, of]));
  return [...ephemeral, ...initContainers, ...containers].map(name => known.get(name)!);
};
