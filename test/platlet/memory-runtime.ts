import {kinds} from '#src/api/kinds/index.js';
import type {Clock} from '#src/base/clock.js';
import type {ContainerConfig, ContainerResources, SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {FilesystemUsage, Image} from '#src/platlet/runtime/images.js';
import {RuntimeError, type CommandResult, type Runtime, type RuntimeStatus} from '#src/platlet/runtime/runtime.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import type {ContainerEvent, ContainerInstance, PodIdentity, RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';
import {EventStreams} from './event-streams.js';

type Mutable<T> = {-readonly [K in keyof T]: T[K]};

/** What the program of a container does. Times in ms. */
export interface Program {
  /** It ends by itself after this time; never if absent. */
  readonly runsFor?: number;
  /** Of successive runs; the last for all others. Default 0. */
  readonly exitCodes?: readonly number[];
  /** From the signal to the end; default at once. Infinity: it has to be killed. */
  readonly stopsAfter?: number;
  readonly startError?: string;
  readonly createError?: string;
  /** What commands in it return, by the first word: the exit code and the output. */
  readonly commands?: Readonly<Record<string, readonly [number, string] | (() => readonly [number, string])>>;
}

interface Running {
  instance: Mutable<ContainerInstance>;
  exit: Disposable | undefined;
  /** Resolves at the end. */
  readonly ended: Promise<void>;
  end(): void;
}

const killed = 137;
const stopped = 143;

const actualOf = ({cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes}: ContainerResources): ActualResources => ({
  ...(cpuShares === undefined ? {} : {cpuShares}),
  ...(cpuPeriod === undefined ? {} : {cpuQuota: cpuQuota || -1, cpuPeriod}),
  ...(memoryLimitBytes === undefined ? {} : {memoryLimitBytes}),
});

const described = ({cpuShares, cpuQuota, memoryLimitBytes}: ContainerResources): string =>
  `shares=${cpuShares} quota=${cpuQuota} memory=${memoryLimitBytes ?? 'max'}`;

/** A runtime in memory, on a clock. Its containers do what their programs say. */
export class MemoryRuntime implements Runtime {
  readonly #clock: Clock;
  readonly #programs: (name: string, pod: PodIdentity) => Program;
  readonly #sandboxes: Mutable<Sandbox>[] = [];
  readonly #containers: Running[] = [];
  readonly #listeners = new Set<(uid: string) => void>();
  readonly events = new EventStreams();
  /** What was called, in order. */
  readonly calls: string[] = [];
  /** Thrown by the next creations of sandboxes. */
  sandboxErrors: Error[] = [];
  /** Thrown by the next updates of containers. */
  updateErrors: Error[] = [];
  #serial = 0;

  constructor(clock: Clock, programs: (name: string, pod: PodIdentity) => Program = () => ({})) {
    this.#clock = clock;
    this.#programs = programs;
  }

  readonly changes = (listener: (uid: string) => void): Disposable => {
    this.#listeners.add(listener);
    return {[Symbol.dispose]: () => void this.#listeners.delete(listener)};
  };

  followEvents = this.events.follow;

  async version() {
    return {name: 'memory', version: '1', apiVersion: 'v1'};
  }

  async status(): Promise<RuntimeStatus> {
    return {conditions: ['RuntimeReady', 'NetworkReady'].map(type => ({type, status: true, reason: '', message: ''}))};
  }

  async cgroupDriver() {
    return undefined;
  }

  updatePodCidr: Runtime['updatePodCidr'] = async () => {};

  async pods(): Promise<readonly RuntimePod[]> {
    const uids = new Set([...this.#sandboxes, ...this.#containers.map(({instance}) => instance)].map(({pod}) => pod.uid));
    return Promise.all([...uids].map(uid => this.podStatus(uid)));
  }

  async podStatus(uid: string): Promise<RuntimePod> {
    const newestFirst = <T extends {readonly attempt: number; readonly createdAt: number}>(items: readonly T[]): T[] =>
      items.toReversed().map(item => ({...item}));
    const sandboxes = newestFirst(this.#sandboxes.filter(({pod}) => pod.uid === uid));
    const containers = newestFirst(this.#containers.map(({instance}) => instance).filter(({pod}) => pod.uid === uid));
    const pod = (sandboxes[0] ?? containers[0])?.pod ?? {uid, namespace: '', name: ''};
    return {pod, sandboxes, containers};
  }

  async runSandbox({pod, attempt, hostname}: SandboxConfig, handler: string): Promise<string> {
    this.calls.push(`sandbox ${pod.name} ${attempt}`);
    const error = this.sandboxErrors.shift();
    if (error) throw error;
    const id = `sandbox-${++this.#serial}`;
    const usesHostNetwork = hostname === '';
    this.#sandboxes.push({
      id,
      pod,
      attempt,
      isReady: true,
      createdAt: this.#clock.now(),
      addresses: usesHostNetwork ? [] : [`10.1.0.${this.#serial}`],
      usesHostNetwork,
      handler,
      annotations: {},
    });
    this.#changed(pod.uid, {id, type: 'started'});
    return id;
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.find(one => one.id === id);
    if (!sandbox) return;
    this.calls.push(`stop sandbox ${sandbox.pod.name} ${sandbox.attempt}`);
    sandbox.isReady = false;
    sandbox.addresses = [];
    for (const running of this.#containers) if (running.instance.sandbox === id) this.#end(running, killed);
    this.#changed(sandbox.pod.uid, {id, type: 'stopped'});
  }

  async removeSandbox(id: string): Promise<void> {
    const index = this.#sandboxes.findIndex(one => one.id === id);
    if (index >= 0) this.#sandboxes.splice(index, 1);
  }

  async sandboxStatus(id: string): Promise<Sandbox> {
    const found = this.#sandboxes.find(one => one.id === id);
    if (!found) throw new RuntimeError('not-found', `sandbox ${id} not found`);
    return {...found};
  }

  async createContainer(sandbox: string, {name, attempt, image, annotations, resources}: ContainerConfig): Promise<string> {
    const {pod} = await this.sandboxStatus(sandbox);
    const {createError} = this.#programs(name, pod);
    if (createError !== undefined) throw new RuntimeError('failed', createError);
    this.calls.push(`create ${name} ${attempt}`);
    const id = `${name}-${attempt}-${++this.#serial}`;
    let end = (): void => {};
    const ended = new Promise<void>(resolve => (end = resolve));
    const instance: ContainerInstance = {
      id,
      sandbox,
      pod,
      name,
      attempt,
      state: 'created',
      createdAt: this.#clock.now(),
      image,
      imageRef: `${image.image}@sha256:0`,
      annotations,
      ...(Object.keys(resources).length > 0 ? {resources: actualOf(resources)} : {}),
    };
    this.#containers.push({instance, exit: undefined, ended, end});
    return id;
  }

  async startContainer(id: string): Promise<void> {
    const running = this.#running(id);
    const {instance} = running;
    const {startError, runsFor, exitCodes = [0]} = this.#programs(instance.name, instance.pod);
    if (startError !== undefined) throw new RuntimeError('failed', startError);
    this.calls.push(`start ${instance.name} ${instance.attempt}`);
    instance.state = 'running';
    instance.startedAt = this.#clock.now();
    const code = exitCodes[Math.min(instance.attempt, exitCodes.length - 1)] ?? 0;
    if (runsFor !== undefined) running.exit = this.#clock.schedule(runsFor, () => this.#end(running, code));
    this.#changed(instance.pod.uid, {id, type: 'started'});
  }

  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    const running = this.#containers.find(({instance}) => instance.id === id);
    if (!running) return;
    const {instance} = running;
    this.calls.push(`stop ${instance.name} ${instance.attempt} ${graceSeconds}`);
    if (instance.state !== 'running') return;
    const {stopsAfter = 0} = this.#programs(instance.name, instance.pod);
    const isKill = stopsAfter > graceSeconds * 1000;
    if (!isKill && stopsAfter === 0) this.#end(running, stopped);
    else {
      const timer = this.#clock.schedule(Math.min(stopsAfter, graceSeconds * 1000), () => this.#end(running, isKill ? killed : stopped));
      await running.ended;
      timer[Symbol.dispose]();
    }
  }

  async removeContainer(id: string): Promise<void> {
    const index = this.#containers.findIndex(({instance}) => instance.id === id);
    if (index < 0) return;
    const [removed] = this.#containers.splice(index, 1);
    this.calls.push(`remove ${removed!.instance.name} ${removed!.instance.attempt}`);
    this.#changed(removed!.instance.pod.uid, {id, type: 'deleted'});
  }

  async containerStatus(id: string): Promise<ContainerInstance> {
    return {...this.#running(id).instance};
  }

  async updateResources(id: string, resources: ContainerResources): Promise<void> {
    const {instance} = this.#running(id);
    const error = this.updateErrors.shift();
    if (error) throw error;
    this.calls.push(`update ${instance.name} ${instance.attempt} ${described(resources)}`);
    instance.resources = actualOf(resources);
    this.#changed(instance.pod.uid);
  }
  updateSandboxResources = () => this.#unavailable();
  reopenLog: Runtime['reopenLog'] = async () => {};
  checkpoint: Runtime['checkpoint'] = () => this.#unavailable();

  async execSync(id: string, command: readonly string[]): Promise<CommandResult> {
    const {instance} = this.#running(id);
    const [word = ''] = command;
    this.calls.push(`exec ${instance.name} ${command.join(' ')}`);
    const found = this.#programs(instance.name, instance.pod).commands?.[word];
    const [exitCode, output] = typeof found === 'function' ? found() : (found ?? [127, `${word}: not found`]);
    return {stdout: Buffer.from(output), stderr: Buffer.alloc(0), exitCode};
  }

  exec: Runtime['exec'] = () => this.#unavailable();
  attach = () => this.#unavailable();
  portForward = () => this.#unavailable();
  pullImage: Runtime['pullImage'] = () => this.#unavailable();

  #unavailable(): Promise<never> {
    return Promise.reject(new RuntimeError('unimplemented', `no ${kinds.pods.plural} of memory have streams or images`));
  }

  async containerUsage() {
    return [];
  }
  async sandboxUsage() {
    return [];
  }
  async images(): Promise<readonly Image[]> {
    return [];
  }
  imageStatus: Runtime['imageStatus'] = async () => undefined;
  removeImage: Runtime['removeImage'] = async () => {};
  async sandboxImage() {
    return undefined;
  }
  async imageFilesystems(): Promise<{readonly images: readonly FilesystemUsage[]; readonly containers: readonly FilesystemUsage[]}> {
    return {images: [], containers: []};
  }

  /** Ends a container, as if its program had. */
  kill(name: string, exitCode: number): void {
    const running = this.#containers.findLast(({instance}) => instance.name === name && instance.state === 'running');
    if (!running) throw new Error(`no container ${name} runs`);
    this.#end(running, exitCode);
  }

  #running(id: string): Running {
    const running = this.#containers.find(({instance}) => instance.id === id);
    if (!running) throw new RuntimeError('not-found', `container ${id} not found`);
    return running;
  }

  #end(running: Running, exitCode: number): void {
    const {instance, exit} = running;
    if (instance.state !== 'running') return;
    exit?.[Symbol.dispose]();
    Object.assign(instance, {
      state: 'exited',
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      finishedAt: this.#clock.now(),
    } satisfies Partial<ContainerInstance>);
    running.end();
    this.#changed(instance.pod.uid, {id: instance.id, type: 'stopped'});
  }

  #changed(uid: string, event?: Pick<ContainerEvent, 'id' | 'type'>): void {
    for (const listener of this.#listeners) listener(uid);
    if (!event) return;
    const known = ({pod}: {readonly pod: PodIdentity}): boolean => pod.uid === uid;
    const sandbox = this.#sandboxes.findLast(known);
    const containers = this.#containers.flatMap(({instance}) => (instance.sandbox === sandbox?.id ? [{...instance}] : []));
    this.events.send(sandbox && {...event, createdAt: this.#clock.now(), sandbox: {...sandbox}, containers});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const {exit} of this.#containers) exit?.[Symbol.dispose]();
  }
}
