// The start of a container: image, configuration, creation, start, and postStart hook.

import type {Frozen} from '#src/api/key.js';
import type {Container, Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import type {SpecContainer} from '#src/model/pod/spec-containers.js';
import {backoffTexts, isBackingOff, nextBackoff, type Backoff} from '#src/platlet/pod/backoff.js';
import {podGraceSeconds} from '#src/platlet/pod/kill.js';
import {latestOf, runsOf} from '#src/platlet/pod/instances.js';
import {WaitingError, type ContainerConfigRequest} from '#src/platlet/pod/ports.js';
import {statusesByName} from '#src/platlet/pod/container-statuses.js';
import type {SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {ImageSpec} from '#src/platlet/runtime/images.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {ImageVolumes} from './image-volumes.js';
import {recordEvent, type WorkerParts} from './parts.js';
import type {PodResizer} from './resize-pod.js';
import {ContainerStop} from './stop-container.js';

/** The sandbox and inputs of container starts. */
export interface StartPlace {
  readonly id: string;
  readonly config: SandboxConfig;
  readonly addresses: readonly string[];
  readonly imageVolumes: ImageVolumes;
  /** Aborts when no container may be started any more. */
  readonly signal: AbortSignal;
}

const containerTypes = {init: 'init_container', sidecar: 'init_container', regular: 'container', ephemeral: 'ephemeral_container'} as const;

/** Thrown for a container in backoff. */
export class BackingOff extends WaitingError {
  /** In ms since the epoch. */
  readonly until: number;
  constructor(message: string, until: number) {
    super('CrashLoopBackOff', message);
    this.until = until;
  }
}

/** How runtimes begin the error of an image that cannot be mounted. */
const mountFailure = 'ImageVolumeMountFailed';

/** Starts the containers of a pod, and keeps their backoffs. */
export class ContainerStarter {
  readonly #parts: WorkerParts;
  readonly #resizer: PodResizer;
  readonly #backoffs = new Map<string, Backoff>();

  constructor(parts: WorkerParts, resizer: PodResizer) {
    this.#parts = parts;
    this.#resizer = resizer;
  }

  /** Starts a container. Throws `WaitingError` if it cannot be started. */
  async start(pod: Frozen<Pod>, of: SpecContainer, place: StartPlace, runtime: RuntimePod): Promise<void> {
    const latest = latestOf(runtime, of.container.name);
    this.#checkBackoff(pod, of, runtime);
    const {startedContainers, containerErrors} = this.#parts.telemetry.metrics;
    const container_type = containerTypes[of.role];
    startedContainers.add({container_type});
    const volumes = await this.#imageVolumes(pod, of, place);
    try {
      await this.#create(pod, of, place, runtime, {latest, volumes});
      this.#noteVolumes(of, volumes);
    } catch (error) {
      if (!place.signal.aborted) this.#noteVolumes(of, volumes, error);
      if (!place.signal.aborted)
        containerErrors.add({container_type, code: error instanceof WaitingError ? error.reason : 'RunContainerError'});
      throw error;
    }
  }

  async #create(
    pod: Frozen<Pod>,
    of: SpecContainer,
    place: StartPlace,
    runtime: RuntimePod,
    {latest, volumes}: {readonly latest: ContainerInstance | undefined; readonly volumes: ReadonlyMap<string, ImageSpec>},
  ): Promise<void> {
    const {runtime: port, images, configs} = this.#parts.ports;
    const image = await unlessAborted(images.ensure(pod, of.container, place.signal), place.signal);
    const attempt = latest ? latest.attempt + 1 : await this.#firstAttempt(pod, of);
    const target = 'targetContainerName' in of.container ? latestOf(runtime, of.container.targetContainerName ?? '') : undefined;
    const request: ContainerConfigRequest = {
      pod,
      container: of.container,
      attempt,
      image,
      sandbox: place.config,
      addresses: place.addresses,
      ...(volumes.size > 0 ? {imageVolumes: volumes} : {}),
      ...(target?.state === 'running' ? {targetId: target.id} : {}),
    };
    const id = await this.#step(pod, of, 'CreateContainerError', async () => {
      const config = await this.#step(pod, of, 'CreateContainerConfigError', async () => {
        const created = await configs.container(request);
        await this.#resizer.noteContainer(pod, of.container);
        return created;
      });
      return port.createContainer(place.id, config, place.config);
    });
    recordEvent(this.#parts, pod, ['Normal', 'Created', 'Container created'], of.path);
    await this.#step(pod, of, 'RunContainerError', () => port.startContainer(id));
    recordEvent(this.#parts, pod, ['Normal', 'Started', 'Container started'], of.path);
    await this.#linkLog(of, id, place, attempt);
    await this.#postStart(pod, of, id, place);
  }

  /** Returns the images of the volumes of a container. */
  #imageVolumes(pod: Frozen<Pod>, {container, path}: SpecContainer, place: StartPlace): Promise<ReadonlyMap<string, ImageSpec>> {
    const pulled = place.imageVolumes.of(pod, container, error => {
      if (place.signal.aborted) return;
      const message = error instanceof WaitingError ? error.reason : messageOf(error);
      recordEvent(this.#parts, pod, ['Warning', 'Failed', `Error: ${message}`], path);
    });
    return unlessAborted(pulled, place.signal);
  }

  /** Counts the image volumes of a container, and whether they could be mounted. */
  #noteVolumes({container: {volumeMounts = []}}: SpecContainer, volumes: ReadonlyMap<string, ImageSpec>, error?: unknown): void {
    const {requestedImageVolumes, mountedImageVolumes, imageVolumeErrors} = this.#parts.telemetry.metrics;
    requestedImageVolumes.add({}, volumes.size);
    const hasFailed = error instanceof WaitingError && error.reason === 'CreateContainerError' && error.message.startsWith(mountFailure);
    for (const {name} of volumeMounts) if (volumes.has(name)) (hasFailed ? imageVolumeErrors : mountedImageVolumes).add();
  }

  /**
   * Backs off from the end of the newest run that has ended: one that was killed a moment ago, for its probe, still
   * counts as running.
   */
  #checkBackoff(pod: Frozen<Pod>, {container, path}: SpecContainer, runtime: RuntimePod): void {
    const ended = runsOf(runtime, container.name).find(({state}) => state === 'exited');
    if (!ended) return;
    const {clock, node} = this.#parts;
    const endedAt = ended.finishedAt ?? clock.now();
    const key = `${container.name}\n${container.image}\n${JSON.stringify(container.resources ?? {})}`;
    const backoff = this.#backoffs.get(key);
    if (isBackingOff(backoff, endedAt, clock.now(), node.crashLoop)) {
      const {event, message} = backoffTexts(pod, container.name, backoff);
      recordEvent(this.#parts, pod, ['Warning', 'BackOff', event], path);
      throw new BackingOff(message, endedAt + backoff.delayMs);
    }
    this.#backoffs.set(key, nextBackoff(backoff, endedAt, clock.now(), node.crashLoop));
  }

  /**
   * Returns the restart count of a container without a run in the runtime: derived from the last status or from its
   * logs.
   */
  async #firstAttempt(pod: Frozen<Pod>, {container: {name}}: SpecContainer): Promise<number> {
    const status = statusesByName(this.#parts.statuses.statusOf(pod.metadata?.uid ?? '') ?? pod.status).get(name);
    if (status?.containerID || (status?.restartCount ?? 0) > 0) return status!.restartCount + (status!.containerID ? 1 : 0);
    const logged = await this.#parts.ports.output.lastAttempt(pod, name);
    return logged === undefined ? 0 : logged + 1;
  }

  /** Runs a step of the start. A failure is recorded as an event, and becomes the waiting reason of the container. */
  async #step<T>(pod: Frozen<Pod>, {path}: SpecContainer, reason: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof WaitingError && error.reason !== 'CreateContainerConfigError') throw error;
      if (error instanceof RecordedError) throw error;
      const message = messageOf(error);
      recordEvent(this.#parts, pod, ['Warning', 'Failed', `Error: ${message}`], path);
      throw new RecordedError(reason, message, {cause: error});
    }
  }

  async #linkLog({container: {name}}: SpecContainer, id: string, {config}: StartPlace, attempt: number): Promise<void> {
    const {output} = this.#parts.ports;
    const {log} = this.#parts.telemetry;
    try {
      await output.started?.(config.pod, name, id, `${config.logDirectory}/${name}/${attempt}.log`);
    } catch (error) {
      log.warn({container: name, err: error}, 'failed to create the link to the log of a container');
    }
  }

  async #postStart(pod: Frozen<Pod>, {container, path}: SpecContainer, id: string, {addresses, signal}: StartPlace): Promise<void> {
    const handler = (container as Frozen<Container>).lifecycle?.postStart;
    if (!handler) return;
    const {ports, handlers, telemetry} = this.#parts;
    try {
      await unlessAborted(handlers.hooks.run(handler, {pod, container, id, addresses}, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      telemetry.log.warn({container: container.name, err: error}, 'the postStart hook failed');
      recordEvent(this.#parts, pod, ['Warning', 'FailedPostStartHook', 'PostStartHook failed'], path);
      const instance = await ports.runtime.containerStatus(id);
      await new ContainerStop(this.#parts, {
        pod,
        instance,
        container,
        message: 'FailedPostStartHook',
        graceSeconds: podGraceSeconds(pod),
        addresses,
      }).done;
      throw new WaitingError('PostStartHookError', messageOf(error), {cause: error});
    }
  }
}

/** A failure whose event was recorded already. */
class RecordedError extends WaitingError {}
