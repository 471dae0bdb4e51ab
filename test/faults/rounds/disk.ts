// A small disk of its own for the store: it can be full, and slow.

import {execFileSync} from 'node:child_process';
import {closeSync, mkdirSync, openSync, readFileSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync, writeSync} from 'node:fs';
import {join} from 'node:path';

const throttling = '/sys/fs/cgroup/blkio';

const run = (command: string, ...args: readonly string[]): void => void execFileSync(command, args, {stdio: 'ignore'});

/** What mounts a disk, the best first: a file system in a file, which can be slow too, and one in memory. */
const kinds: Readonly<Record<'file' | 'memory', (directory: string, path: string, bytes: number) => void>> = {
  file(directory, path, bytes) {
    const image = join(directory, 'disk.img');
    writeFileSync(image, '');
    truncateSync(image, bytes);
    run('mkfs.ext4', '-q', '-F', '-m', '0', image);
    run('mount', '-o', 'loop', image, path);
  },
  memory: (_, path, bytes) => run('mount', '-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', path),
};

export class Disk implements Disposable {
  readonly path: string;
  /**
   * A group of processes whose writes to the disk can be limited, with the disk's number; none where there is no such
   * thing.
   */
  readonly #slow: {readonly group: string; readonly device: string} | undefined;

  private constructor(path: string, isFile: boolean) {
    this.path = path;
    this.#slow = isFile ? groupFor(path) : undefined;
  }

  /** Mounts a disk in a folder, where this process may; returns why not otherwise. */
  static mount(directory: string, bytes: number): Disk | string {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount a disk';
    const path = join(directory, 'disk');
    mkdirSync(path);
    let why = '';
    for (const [kind, mount] of Object.entries(kinds))
      try {
        mount(directory, path, bytes);
        return new Disk(path, kind === 'file');
      } catch (error) {
        why = (error as Error).message;
      }
    return why;
  }

  /** Whether it can be slow. */
  get canBeSlow(): boolean {
    return this.#slow !== undefined;
  }

  /** Limits the writes of a process, and of those that it starts, to some a second, until the result is disposed of. */
  slow(pid: number, writesPerSecond: number): Disposable {
    const {group, device} = this.#slow!;
    const limit = (count: number): void => writeFileSync(join(group, 'blkio.throttle.write_iops_device'), `${device} ${count}`);
    limit(writesPerSecond);
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
    return {[Symbol.dispose]: () => limit(0)};
  }

  /** Leaves no free block: what is freed meanwhile is filled too. */
  fill(): void {
    const file = openSync(join(this.path, 'filler'), 'a');
    try {
      for (let size = 2 ** 20; size >= 4096; size /= 2) {
        const block = Buffer.alloc(size);
        try {
          while (writeSync(file, block) === size);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  empty(): void {
    rmSync(join(this.path, 'filler'), {force: true});
  }

  [Symbol.dispose](): void {
    run('umount', '-l', this.path);
    if (!this.#slow) return;
    const {group} = this.#slow;
    // Only an empty group can be removed.
    for (const pid of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
      writeFileSync(join(throttling, 'cgroup.procs'), pid);
    rmdirSync(group);
  }
}

const groupFor = (path: string): {readonly group: string; readonly device: string} | undefined => {
  const {dev} = statSync(path);
  const group = join(throttling, `plat-faults-${process.pid}-${dev}`);
  const device = `${(dev >> 8) & 0xfff}:${dev & 0xff}`;
  try {
    mkdirSync(group);
    writeFileSync(join(group, 'blkio.throttle.write_iops_device'), `${device} 0`);
    return {group, device};
  } catch {
    return undefined;
  }
};
