// What a round runs against: servers, and the store behind them.

import {execFileSync} from 'node:child_process';
import {closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';
import {ApiServer} from './api-server.js';

/** `etcd-two` is two servers on one etcd: each request goes to one of them by chance. */
export const backends = ['memory', 'embedded', 'etcd', 'etcd-two'] as const;
export type Backend = (typeof backends)[number];

export const canRun = (backend: Backend): boolean => hasEtcd || !backend.startsWith('etcd');

/** History is kept for one or two of these intervals, so that watchers that were away for some seconds find theirs gone. */
const compaction = '--kvstore-compaction-interval=2s';
const diskBytes = 64 * 2 ** 20;

export class World implements AsyncDisposable {
  readonly servers: readonly ApiServer[];
  readonly etcd: EtcdServer | undefined;
  readonly #directory: string;
  /** The disk of the store, if it has one of its own that can be filled. */
  readonly #disk: string | undefined;

  private constructor(directory: string, servers: readonly ApiServer[], etcd: EtcdServer | undefined, disk: string | undefined) {
    this.#directory = directory;
    this.servers = servers;
    this.etcd = etcd;
    this.#disk = disk;
  }

  static async open(backend: Backend): Promise<World> {
    const directory = mkdtempSync(join(tmpdir(), 'plat-faults-'));
    const disk = backend === 'embedded' ? ownDisk(directory) : undefined;
    const etcd = backend.startsWith('etcd') ? await EtcdServer.start() : undefined;
    const args = etcd ? [`--kvstore-servers=${etcd.url}`] : [`--storage-backend=${backend}`];
    const servers: ApiServer[] = [];
    for (let index = 0; index < (backend === 'etcd-two' ? 2 : 1); index++) {
      const own = join(directory, `server-${index}`);
      mkdirSync(own);
      servers.push(await ApiServer.start(own, join(disk ?? own, 'store'), [...args, compaction]));
    }
    return new World(directory, servers, etcd, disk);
  }

  get hasDisk(): boolean {
    return this.#disk !== undefined;
  }

  /** Leaves no free block on the disk: what the server frees meanwhile is filled too. */
  fillDisk(): void {
    const file = openSync(join(this.#disk!, 'filler'), 'a');
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

  emptyDisk(): void {
    rmSync(join(this.#disk!, 'filler'), {force: true});
  }

  /** Compacts the history of etcd up to its present revision. */
  async compactEtcd(): Promise<void> {
    const post = async (path: string, body: object) =>
      (await (await fetch(`${this.etcd!.url}/v3/kv/${path}`, {method: 'POST', body: JSON.stringify(body)})).json()) as {
        header?: {revision: string};
      };
    const {header} = await post('range', {key: 'YQ=='});
    await post('compaction', {revision: header!.revision});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) {
      server.proceed();
      await server[Symbol.asyncDispose]();
    }
    this.etcd?.proceed();
    await this.etcd?.stop();
    if (this.#disk) execFileSync('umount', ['-l', this.#disk]);
    rmSync(this.#directory, {recursive: true, force: true});
  }
}

/** Mounts a small disk in memory where this process may; returns its folder. */
const ownDisk = (directory: string): string | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=0700`, 'tmpfs', disk], {stdio: 'ignore'});
    return disk;
  } catch {
    return undefined;
  }
};
