// The runtime port over the container runtime interface (CRI, version 1).

import type {Duplex} from 'node:stream';
import {runtimeApiSuffix} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {traced, type SpanAttributes} from '#src/base/span.js';
import type {ContainerConfig, ContainerResources, SandboxConfig, SandboxUpdate} from '#src/platlet/runtime/configs.js';
import type {Image, ImageCredentials, ImageSpec} from '#src/platlet/runtime/images.js';
import {uidLabel} from '#src/platlet/runtime/labels.js';
import {
  RuntimeError,
  type CommandResult,
  type EventFollower,
  type ProcessStreams,
  type Runtime,
  type RuntimeStatus,
  type RuntimeVersion,
} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance, RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';
import type {ContainerUsage, SandboxUsage} from '#src/platlet/runtime/usage.js';
import {dialer, type Dial} from '#src/transport/dial.js';
import {systemNetwork} from '#src/transport/network.js';
import {openSpdy} from '#src/transport/spdy/client.js';
import type {SpdySession} from '#src/transport/spdy/session.js';
import {CriClient} from './client.js';
import type {Draft, Value} from '#src/platlet/rpc/codec.js';
import {containerMessage, imageMessage, resourcesMessage, sandboxMessage} from './configs.js';
import type {Procedure} from '#src/platlet/rpc/procedure.js';
import type {containerEvent} from './messages/images.js';
import {procedures} from './procedures.js';
import {
  containerEventOf,
  containerOf,
  groupedByPod,
  imageOf,
  listedContainer,
  listedSandbox,
  requiredOf,
  sandboxImageIn,
  sandboxOf,
} from './states.js';
import {forwardPort, runProcess} from './streams.js';
import {containerUsageOf, filesystemOf, sandboxUsageOf} from './usages.js';

export interface CriRuntimeParts {
  /** `unix:///path` of the runtime. */
  readonly endpoint: string;
  /** The endpoint of the image service, if it differs. */
  readonly imageEndpoint?: string | undefined;
  /** The time limit of most calls. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Called after each call of a procedure. */
  readonly called?: ((path: string, seconds: number, hasFailed: boolean) => void) | undefined;
  /** Opens the connections of streams; by default on this machine's network. */
  readonly dial?: Dial;
}

/** The version of the kubelet interface that runtimes report. */
const supportedVersion = '0.1.0';

/** How long the runtime may take to close its side of a finished connection. */
const closeTimeoutMs = 1000;

const commandProtocol = `v4.channel.${runtimeApiSuffix}`;
const portProtocol = `portforward.${runtimeApiSuffix}`;

/** Resolves once `act` has, or if the object does not exist. */
const unlessMissing = async (act: Promise<unknown>): Promise<void> => {
  try {
    await act;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
};

const isMissing = (error: unknown): boolean => error instanceof RuntimeError && error.kind === 'not-found';

/** Returns the results; objects removed meanwhile are skipped. */
const present = async <A>(results: readonly Promise<A>[]): Promise<A[]> => {
  const settled = await Promise.allSettled(results);
  return settled.flatMap(result => {
    if (result.status === 'fulfilled') return [result.value];
    if (isMissing(result.reason)) return [];
    throw result.reason;
  });
};

export class CriRuntime implements Runtime {
  readonly #client: CriClient;
  readonly #images: CriClient;
  readonly #parts: CriRuntimeParts;
  readonly #dial: Dial;

  constructor(parts: CriRuntimeParts) {
    const {endpoint, imageEndpoint = endpoint, clock, log = noLog} = parts;
    this.#parts = parts;
    this.#client = new CriClient({endpoint, clock, log});
    this.#images = imageEndpoint === endpoint ? this.#client : new CriClient({endpoint: imageEndpoint, clock, log});
    this.#dial = parts.dial ?? dialer(systemNetwork(clock), clock);
  }

  /**
   * Checks that the runtime serves a supported version of the CRI. Throws `RuntimeError`, of kind `unimplemented` if it
   * serves another.
   */
  async check(): Promise<RuntimeVersion> {
    const {endpoint} = this.#parts;
    try {
      await this.#call(procedures.version, {version: supportedVersion});
    } catch (error) {
      const kind = error instanceof RuntimeError ? error.kind : 'failed';
      throw new RuntimeError(kind, `validate CRI v1 runtime API for endpoint ${JSON.stringify(endpoint)}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    return await this.version();
  }

  async version(): Promise<RuntimeVersion> {
    const response = await this.#call(procedures.version, {version: supportedVersion});
    const {version, runtimeName, runtimeVersion, runtimeApiVersion} = response;
    for (const part of [version, runtimeName, runtimeVersion, runtimeApiVersion])
      requiredOf(part, `not all fields are set in VersionResponse (${JSON.stringify(JSON.stringify(response))})`);
    if (version !== supportedVersion) throw new RuntimeError('unimplemented', 'runtime api version is not supported');
    return {name: runtimeName, version: runtimeVersion, apiVersion: runtimeApiVersion};
  }

  async sandboxImage(): Promise<string | undefined> {
    const {info} = await this.#call(procedures.status, {verbose: true});
    return sandboxImageIn(info['config']);
  }

  async status(): Promise<RuntimeStatus> {
    const {status, runtimeHandlers, features} = await this.#call(procedures.status, {});
    const {conditions} = requiredOf(status, 'RuntimeReady or NetworkReady condition are not set');
    if (conditions.length < 2) throw new RuntimeError('failed', 'RuntimeReady or NetworkReady condition are not set');
    const handlers = runtimeHandlers.map(({name, features: of}) => ({
      name,
      recursiveReadOnlyMounts: of?.recursiveReadOnlyMounts ?? false,
      userNamespaces: of?.userNamespaces ?? false,
    }));
    return {
      conditions,
      ...(handlers.length > 0 ? {handlers} : {}),
      ...(features ? {supplementalGroupsPolicy: features.supplementalGroupsPolicy} : {}),
    };
  }

  async cgroupDriver(): Promise<'cgroupfs' | 'systemd' | undefined> {
    try {
      return (await this.#call(procedures.runtimeConfig, {})).linux?.cgroupDriver;
    } catch (error) {
      if (error instanceof RuntimeError && error.kind === 'unimplemented') return undefined;
      throw error;
    }
  }

  async updatePodCidr(podCidr: string): Promise<void> {
    await this.#call(procedures.updateRuntimeConfig, {runtimeConfig: {networkConfig: {podCidr}}});
  }

  async pods(): Promise<readonly RuntimePod[]> {
    const [{items}, {containers}] = await Promise.all([
      this.#call(procedures.listPodSandbox, {}),
      this.#call(procedures.listContainers, {}),
    ]);
    return groupedByPod(
      items.flatMap(item => listedSandbox(item) ?? []),
      containers.flatMap(item => listedContainer(item) ?? []),
    );
  }

  async podStatus(uid: string): Promise<RuntimePod> {
    const filter = {labelSelector: uidLabel(uid)};
    const [{items}, {containers}] = await Promise.all([
      this.#call(procedures.listPodSandbox, {filter}),
      this.#call(procedures.listContainers, {filter}),
    ]);
    const [sandboxes, instances] = await Promise.all([
      present(items.map(({id}) => this.sandboxStatus(id))),
      present(containers.map(({id, podSandboxId}) => this.#containerStatus(id, podSandboxId))),
    ]);
    return groupedByPod(sandboxes, instances)[0] ?? {pod: {uid, namespace: '', name: ''}, sandboxes: [], containers: []};
  }

  followEvents({connected, received}: EventFollower, signal: AbortSignal): Promise<void> {
    const {containerEvents: procedure} = procedures;
    const follower = {connected, received: (event: Value<typeof containerEvent>) => received(containerEventOf(event))};
    return this.#measured(procedure.path, () => this.#client.follow(procedure, {}, follower, signal));
  }

  async runSandbox(config: SandboxConfig, handler: string): Promise<string> {
    const message = {config: sandboxMessage(config), runtimeHandler: handler};
    const {podSandboxId} = await this.#call(procedures.runPodSandbox, message, 2 * this.#parts.requestTimeoutMs);
    return requiredOf(podSandboxId, `PodSandboxId is not set for sandbox ${JSON.stringify(config.pod.name)}`);
  }

  async stopSandbox(podSandboxId: string): Promise<void> {
    await unlessMissing(this.#call(procedures.stopPodSandbox, {podSandboxId}));
  }

  async removeSandbox(podSandboxId: string): Promise<void> {
    await unlessMissing(this.#call(procedures.removePodSandbox, {podSandboxId}));
  }

  async sandboxStatus(podSandboxId: string): Promise<Sandbox> {
    return sandboxOf((await this.#call(procedures.podSandboxStatus, {podSandboxId})).status);
  }

  async updateSandboxResources(podSandboxId: string, {resources, overhead}: SandboxUpdate): Promise<void> {
    const messages = {resources: resourcesMessage(resources), ...(overhead ? {overhead: resourcesMessage(overhead)} : {})};
    await this.#call(procedures.updatePodSandboxResources, {podSandboxId, ...messages});
  }

  async createContainer(podSandboxId: string, config: ContainerConfig, sandboxConfig: SandboxConfig): Promise<string> {
    const message = {podSandboxId, config: containerMessage(config), sandboxConfig: sandboxMessage(sandboxConfig)};
    const {containerId} = await this.#call(procedures.createContainer, message);
    return requiredOf(containerId, `ContainerId is not set for container ${JSON.stringify(config.name)}`);
  }

  async startContainer(containerId: string): Promise<void> {
    await this.#call(procedures.startContainer, {containerId});
  }

  async stopContainer(containerId: string, graceSeconds: number): Promise<void> {
    const timeoutMs = this.#parts.requestTimeoutMs + 1000 * graceSeconds;
    await unlessMissing(this.#call(procedures.stopContainer, {containerId, timeout: graceSeconds}, timeoutMs));
  }

  async removeContainer(containerId: string): Promise<void> {
    await unlessMissing(this.#call(procedures.removeContainer, {containerId}));
  }

  async containerStatus(id: string): Promise<ContainerInstance> {
    const [instance, {containers}] = await Promise.all([
      this.#containerStatus(id, ''),
      this.#call(procedures.listContainers, {filter: {id}}),
    ]);
    return {...instance, sandbox: containers[0]?.podSandboxId ?? ''};
  }

  async updateResources(containerId: string, resources: ContainerResources): Promise<void> {
    await this.#call(procedures.updateContainerResources, {containerId, linux: resourcesMessage(resources)});
  }

  async reopenLog(containerId: string): Promise<void> {
    await this.#call(procedures.reopenContainerLog, {containerId});
  }

  async checkpoint(containerId: string, location: string, timeoutSeconds: number): Promise<void> {
    if (timeoutSeconds < 0) throw new Error('CheckpointContainer requires the timeout value to be > 0');
    const timeout = Math.max(timeoutSeconds, Math.trunc(this.#parts.requestTimeoutMs / 1000));
    await this.#call(
      procedures.checkpointContainer,
      {containerId, location, timeout},
      Math.max(this.#parts.requestTimeoutMs, 1000 * timeout),
    );
  }

  async execSync(containerId: string, command: readonly string[], timeoutSeconds: number): Promise<CommandResult> {
    const timeoutMs = timeoutSeconds === 0 ? Infinity : this.#parts.requestTimeoutMs + 1000 * timeoutSeconds;
    try {
      return await this.#call(procedures.execSync, {containerId, cmd: command, timeout: timeoutSeconds}, timeoutMs);
    } catch (error) {
      if (!(error instanceof RuntimeError) || error.kind !== 'timeout') throw error;
      throw new RuntimeError('timeout', `command ${JSON.stringify(command.join(' '))} timed out`, {cause: error});
    }
  }

  async exec(containerId: string, cmd: readonly string[], streams: ProcessStreams, signal: AbortSignal): Promise<number> {
    const url = await this.#url(procedures.exec, {containerId, cmd, ...requested(streams)});
    return await this.#connected(url, commandProtocol, signal, session => runProcess(session, streams));
  }

  async attach(containerId: string, streams: ProcessStreams, signal: AbortSignal): Promise<number> {
    const url = await this.#url(procedures.attach, {containerId, ...requested(streams)});
    return await this.#connected(url, commandProtocol, signal, session => runProcess(session, streams));
  }

  async portForward(podSandboxId: string, port: number, connection: Duplex, signal: AbortSignal): Promise<void> {
    const url = await this.#url(procedures.portForward, {podSandboxId, port: [port]});
    await this.#connected(url, portProtocol, signal, session => forwardPort(session, port, connection));
  }

  async containerUsage(): Promise<readonly ContainerUsage[]> {
    const {stats} = await this.#call(procedures.listContainerStats, {});
    return stats.flatMap(each => containerUsageOf(each) ?? []);
  }

  async sandboxUsage(): Promise<readonly SandboxUsage[]> {
    const stats = await this.#sandboxStats();
    return stats.flatMap(each => (each && sandboxUsageOf(each)) ?? []);
  }

  /**
   * Containerd before 1.7 fails the whole list while one sandbox is stopped, as those of completed pods are, or a
   * container of one is being removed. It then gets one call at a time: two at once write the same map unguarded, which
   * ends it.
   */
  async #sandboxStats() {
    try {
      return (await this.#call(procedures.listPodSandboxStats, {})).stats;
    } catch (error) {
      if (!(error instanceof RuntimeError && ['failed', 'not-found'].includes(error.kind))) throw error;
      const {items} = await this.#call(procedures.listPodSandbox, {});
      const ready = items.filter(({state}) => state === 'ready');
      const read = [];
      for (const {id: podSandboxId} of ready) {
        const answer = await this.#call(procedures.podSandboxStats, {podSandboxId}).catch(() => undefined);
        if (answer) read.push(answer.stats);
      }
      if (ready.length > 0 && read.length === 0) throw error;
      return read;
    }
  }

  async images(): Promise<readonly Image[]> {
    return (await this.#callImages(procedures.listImages, {})).images.map(imageOf);
  }

  async imageStatus(image: ImageSpec): Promise<Image | undefined> {
    const {image: found} = await this.#callImages(procedures.imageStatus, {image: imageMessage(image)});
    if (!found) return undefined;
    if (found.id === '' || found.size === 0)
      throw new RuntimeError('failed', `Id or size of image ${JSON.stringify(image.image)} is not set`);
    return imageOf(found);
  }

  async pullImage(image: ImageSpec, credentials: ImageCredentials | undefined, sandboxConfig: SandboxConfig): Promise<string> {
    const message = {image: imageMessage(image), auth: credentials, sandboxConfig: sandboxMessage(sandboxConfig)};
    const {imageRef} = await this.#callImages(procedures.pullImage, message, Infinity);
    return requiredOf(imageRef, `imageRef of image ${JSON.stringify(image.image)} is not set`);
  }

  async removeImage(image: ImageSpec): Promise<void> {
    await unlessMissing(this.#callImages(procedures.removeImage, {image: imageMessage(image)}));
  }

  async imageFilesystems(): ReturnType<Runtime['imageFilesystems']> {
    const {imageFilesystems, containerFilesystems} = await this.#callImages(procedures.imageFsInfo, {});
    return {images: imageFilesystems.map(filesystemOf), containers: containerFilesystems.map(filesystemOf)};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
    await this.#images[Symbol.asyncDispose]();
  }

  async #containerStatus(containerId: string, sandbox: string): Promise<ContainerInstance> {
    return containerOf((await this.#call(procedures.containerStatus, {containerId})).status, sandbox);
  }

  /** Requests the URL of a stream, which is valid for one connection. */
  async #url<Request>(procedure: Procedure<Request, {url: string}>, message: Draft<NoInfer<Request>>): Promise<string> {
    return requiredOf((await this.#call(procedure, message)).url, 'URL is not set');
  }

  /** Uses the streams of a URL. The connection is closed afterwards, even if the runtime does not close its side. */
  async #connected<A>(url: string, protocol: string, signal: AbortSignal, act: (session: SpdySession) => Promise<A>): Promise<A> {
    const {clock} = this.#parts;
    const over = new AbortController();
    try {
      const session = await this.#open(url, protocol, AbortSignal.any([signal, over.signal]));
      try {
        return await act(session);
      } finally {
        const timer = clock.schedule(closeTimeoutMs, () => over.abort());
        void session.closed.then(() => timer[Symbol.dispose]());
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  async #open(url: string, protocol: string, signal: AbortSignal): Promise<SpdySession> {
    try {
      return await openSpdy({url, protocol, dial: this.#dial, clock: this.#parts.clock, signal});
    } catch (error) {
      throw new RuntimeError('failed', messageOf(error), {cause: error});
    }
  }

  #call<Request, Response>(
    procedure: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    timeoutMs = this.#parts.requestTimeoutMs,
  ): Promise<Response> {
    return this.#measured(procedure.path, () => this.#client.call(procedure, message, timeoutMs));
  }

  #callImages<Request, Response>(
    procedure: Procedure<Request, Response>,
    message: Draft<NoInfer<Request>>,
    timeoutMs = this.#parts.requestTimeoutMs,
  ): Promise<Response> {
    return this.#measured(procedure.path, () => this.#images.call(procedure, message, timeoutMs));
  }

  async #measured<A>(path: string, call: () => Promise<A>): Promise<A> {
    const {clock, called} = this.#parts;
    const since = clock.monotonic();
    let hasFailed = true;
    try {
      const result = await traced(path.slice(1), () => rpcAttributes(path), call, true);
      hasFailed = false;
      return result;
    } finally {
      called?.(path, (clock.monotonic() - since) / 1000, hasFailed);
    }
  }
}

/** Returns the span attributes of a call. */
const rpcAttributes = (path: string): SpanAttributes => {
  const [, service = '', method = ''] = path.split('/');
  return {'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method};
};

/** Returns the flags of a request for the streams of a process. */
const requested = ({stdin, stdout, stderr, tty}: ProcessStreams) => ({
  tty,
  stdin: stdin !== undefined,
  stdout: stdout !== undefined,
  stderr: stderr !== undefined && !tty,
});
