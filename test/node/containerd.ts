// A containerd of its own for tests, in namespaces of its own, that leaves nothing behind.

import type {ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {networkInterfaces, tmpdir} from 'node:os';
import {join} from 'node:path';
import {cgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {cgroupsAt, removeCgroups} from './cgroups.js';
import {writeConfiguration, writePodNetwork} from './configuration.js';
import {imageArchive, type ImageName} from './images/index.js';
import {keepKernelParameters} from './kernel-parameters.js';
import {leftInside, mountsBelow} from './leftovers.js';
import {Namespaces} from './namespaces.js';
import {connectNetwork, type NodeNetwork} from './network.js';
import {run} from './run.js';

export interface ContainerdOptions {
  /** Imported beside the pause image. Default: `busybox`. */
  readonly images?: readonly ImageName[];
  /** Default: `overlayfs`. */
  readonly snapshotter?: 'overlayfs' | 'native';
  /** Whether pods have a network from the beginning, which is then ready. Default: yes. */
  readonly hasNetwork?: boolean;
}

/** How long containerd may take to serve, and what it leaves to go, in ms. */
const patienceMs = 10_000;

const pause = async (): Promise<void> => await new Promise(resolve => setTimeout(resolve, 5));

/** Waits for a condition. Rejects with what is missing after ten seconds. */
const until = async (isTrue: () => boolean | Promise<boolean>, what: () => string): Promise<void> => {
  const end = Date.now() + patienceMs;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(what());
    await pause();
  }
};

const accepts = async (socket: string): Promise<boolean> =>
  await new Promise(resolve => {
    const attempt = connect(socket);
    const settle = (result: boolean) => {
      attempt.destroy();
      resolve(result);
    };
    attempt.once('connect', () => settle(true)).once('error', () => settle(false));
  });

export class Containerd implements AsyncDisposable {
  /** Everything of it is in here. */
  readonly folder: string;
  /** A folder for an agent: what is mounted below it on the host is mounted for containerd too. */
  readonly agentFolder: string;
  readonly namespaces: Namespaces;
  readonly network: NodeNetwork;
  /** The parent for the groups of pods, which is this containerd's alone. */
  readonly cgroup: string;
  readonly #snapshotter: string;
  readonly #resetKernel = keepKernelParameters();
  #running: {readonly child: ChildProcess; readonly pid: number} | undefined;

  constructor(parts: {
    readonly folder: string;
    readonly namespaces: Namespaces;
    readonly network: NodeNetwork;
    readonly snapshotter: string;
  }) {
    this.folder = parts.folder;
    this.agentFolder = join(parts.folder, 'agent');
    this.namespaces = parts.namespaces;
    this.network = parts.network;
    this.cgroup = `/plat-test-${process.pid}-${parts.network.number}`;
    this.#snapshotter = parts.snapshotter;
  }

  /** The path of its socket. */
  get socket(): string {
    return join(this.folder, 'containerd.sock');
  }

  /** Its URL as agents are given it. */
  get endpoint(): string {
    return `unix://${this.socket}`;
  }

  /** The id of its process; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  /** What it has logged. */
  get log(): string {
    return readFileSync(join(this.folder, 'containerd.log'), 'utf8');
  }

  /** Starts it, again after `kill`. Resolves once it serves. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'containerd.log'), 'a');
    const logged = this.log.length;
    try {
      this.#running = await this.namespaces.start('containerd', ['-c', join(this.folder, 'config.toml')], log);
    } finally {
      closeSync(log);
    }
    const {child} = this.#running;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await until(
      async () => hasEnded() || (this.log.includes('Start streaming server', logged) && (await accepts(this.socket))),
      () => `containerd does not serve:\n${this.log}`,
    );
    if (hasEnded()) throw new Error(`containerd has ended:\n${this.log}`);
  }

  /** Ends it; containers go on. */
  async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const running = this.#running;
    if (!running) return;
    const ended = once(running.child, 'exit');
    process.kill(running.pid, signal);
    await ended;
    this.#running = undefined;
  }

  /** Stops it for a while: it accepts connections and answers nothing. */
  freeze(isFrozen: boolean): void {
    if (!this.#running) return;
    process.kill(this.#running.pid, isFrozen ? 'SIGSTOP' : 'SIGCONT');
    // It stops with its child, and does not go on by itself.
    if (!isFrozen) this.#running.child.kill('SIGCONT');
  }

  /** Gives the pods a network, if they have none. */
  connectPods(): void {
    writePodNetwork({folder: this.folder, pods: this.network.pods});
  }

  /** Takes away the power: everything ends at once, containers too. */
  async powerOff(): Promise<void> {
    this.freeze(false);
    this.#running = undefined;
    await this.namespaces.end();
  }

  /** Imports an archive of images. */
  async import(archive: string): Promise<void> {
    await this.ctr('images', 'import', '--snapshotter', this.#snapshotter, archive);
  }

  /** Runs containerd's own client. */
  async ctr(...args: readonly string[]): Promise<string> {
    const [enter = '', ...flags] = this.namespaces.enter;
    return await run(enter, ...flags, 'ctr', '-a', this.socket, '-n', 'k8s.io', ...args);
  }

  /** Lets images be pulled from `name/…` by the registry at a URL that is reachable from the node. */
  addRegistry(name: string, url: string): void {
    const folder = join(this.folder, 'registries', name);
    mkdirSync(folder, {recursive: true});
    // The file must name a host beside the server; this one is not asked for pulls.
    writeFileSync(join(folder, 'hosts.toml'), `server = "${url}"\n[host."http://127.0.0.1:1"]\n  capabilities = ["push"]\n`);
  }

  /**
   * Lists what pods have left: processes, control groups, networks and their addresses, mounts; after `stop` whatever
   * there is of this containerd on the host.
   */
  leftovers(): readonly string[] {
    const groups = cgroupsAt(this.cgroup).map(path => `cgroup ${path}`);
    if (existsSync(`/proc/${this.namespaces.pid}`)) return [...groups.filter(name => !name.endsWith(this.cgroup)), ...leftInside(this)];
    return [
      ...groups,
      ...(networkInterfaces()[this.network.device] ? [`network device ${this.network.device}`] : []),
      ...mountsBelow(this.folder).map(path => `mount ${path}`),
      ...(existsSync(this.folder) ? [`folder ${this.folder}`] : []),
    ];
  }

  /** Ends everything and removes it. Rejects with what is left. */
  async stop(): Promise<void> {
    await this.powerOff();
    await until(
      () => removeCgroups(this.cgroup).length === 0,
      () => this.leftovers().join('\n'),
    );
    // A mount is busy for a moment longer than the processes that used it.
    await until(
      async () => {
        for (const path of mountsBelow(this.folder).toReversed()) await run('umount', path).catch(() => {});
        return mountsBelow(this.folder).length === 0;
      },
      () => this.leftovers().join('\n'),
    );
    rmSync(this.folder, {recursive: true, force: true});
    this.#resetKernel();
    await until(
      () => this.leftovers().length === 0,
      () => this.leftovers().join('\n'),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Starts a containerd with images. Only where `containersMissing` is undefined. */
export const startContainerd = async (options: ContainerdOptions = {}): Promise<Containerd> => {
  const {images = ['busybox'], snapshotter = 'overlayfs', hasNetwork = true} = options;
  const archives = (['pause', ...images] as const).map(imageArchive);
  const folder = mkdtempSync(join(tmpdir(), 'plat-containerd-'));
  mkdirSync(join(folder, 'agent'));
  await run('mount', '--bind', join(folder, 'agent'), join(folder, 'agent'));
  await run('mount', '--make-shared', join(folder, 'agent'));
  const namespaces = await Namespaces.create();
  const network = await connectNetwork(namespaces.pid, folder);
  writeConfiguration({folder, snapshotter, hasNetwork, address: network.node, pods: network.pods});
  const containerd = new Containerd({folder, namespaces, network, snapshotter});
  try {
    await containerd.start();
    await (await cgroupHierarchy(systemHost)).create(containerd.cgroup);
    for (const archive of archives) await containerd.import(archive);
  } catch (error) {
    await containerd.stop();
    throw error;
  }
  return containerd;
};
