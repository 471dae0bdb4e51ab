// Namespaces of network, mounts and processes, in which a container runtime leaves nothing of its own on the host: all
// processes end with the first one, mounts and network devices with the last. The first process ends with this one,
// even if it is killed.

import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

/**
 * Run by the first process. Mounts are shared, for containers with mount propagation. Folders outside of the test's own
 * that runtimes and network plugins write to are empty ones in memory. Names of hosts are not found, rather than
 * searched for. Ignored signals of children let the kernel reap them.
 */
const first = `set -e
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir -p /run/netns /run/lock
: > /run/resolv.conf
[ ! -e /etc/resolv.conf ] || mount --bind /run/resolv.conf /etc/resolv.conf
trap '' CHLD
echo ready
exec cat`;

/** Returns the ids of the children of a process; none if it has gone. */
const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

const identityOf = (pid: number | string): string | undefined => {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
};

/** A process within the namespaces. */
export interface Process {
  /** Its id on the host. */
  readonly pid: number;
  readonly arguments: string;
}

export class Namespaces {
  readonly #holder: ChildProcess;
  /** The first process. */
  readonly pid: number;
  readonly #identity: string;

  private constructor(holder: ChildProcess, pid: number) {
    this.#holder = holder;
    this.pid = pid;
    this.#identity = identityOf(pid) ?? '';
  }

  static async create(): Promise<Namespaces> {
    const flags = ['--net', '--pid', '--fork', '--kill-child', '--mount', '--propagation', 'slave'];
    const holder = spawn('unshare', [...flags, 'sh', '-c', first], {stdio: ['pipe', 'pipe', 'pipe']});
    const errors: Buffer[] = [];
    holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
    const [pid] = childrenOf(holder.pid!);
    if (holder.exitCode !== null || pid === undefined) throw new Error(`no namespaces: ${Buffer.concat(errors).toString()}`);
    return new Namespaces(holder, pid);
  }

  /** The beginning of a command line that runs a program within. */
  get enter(): readonly string[] {
    return ['nsenter', `--target=${this.pid}`, '--net', '--mount', '--pid'];
  }

  /** Starts a program within. Returns it with its id on the host. */
  async start(program: string, args: readonly string[], log: number): Promise<{readonly child: ChildProcess; readonly pid: number}> {
    const [enter = '', ...flags] = this.enter;
    const child = spawn(enter, [...flags, program, ...args], {stdio: ['ignore', log, log]});
    while (child.exitCode === null && child.signalCode === null) {
      const [pid] = childrenOf(child.pid!);
      if (pid !== undefined) return {child, pid};
      await new Promise(resolve => setTimeout(resolve, 1));
    }
    throw new Error(`${program} did not start`);
  }

  /** The processes within except the first. */
  processes(): readonly Process[] {
    return readdirSync('/proc').flatMap(name => {
      if (!/^\d+$/.test(name) || Number(name) === this.pid || identityOf(name) !== this.#identity) return [];
      try {
        const text = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return text === '' ? [] : [{pid: Number(name), arguments: text}];
      } catch {
        return [];
      }
    });
  }

  /** The path on the host of a path within. */
  path(within: string): string {
    return `/proc/${this.pid}/root${within}`;
  }

  /** The places where something is mounted within. */
  mounts(): readonly string[] {
    return readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8')
      .split('\n')
      .flatMap(line => line.split(' ')[4] ?? []);
  }

  /** Kills all processes within. */
  async end(): Promise<void> {
    const {exitCode, signalCode} = this.#holder;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#holder, 'close');
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      this.#holder.kill('SIGKILL');
    }
    this.#holder.stdin?.destroy();
    await ended;
  }
}
