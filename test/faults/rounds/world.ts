// What a round runs against: servers, and the store behind them.

import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';
import {ApiServer} from './api-server.js';
import {Disk} from './disk.js';
import {Network} from './network.js';

/**
 * `etcd-two` is two servers on one etcd: each request goes to one of them by chance. `etcd-three` is a server on three
 * members.
 */
export const backends = ['memory', 'embedded', 'etcd', 'etcd-two', 'etcd-three'] as const;
export type Backend = (typeof backends)[number];

export const canRun = (backend: Backend): boolean => hasEtcd || !backend.startsWith('etcd');

/**
 * History is kept for one or two of these intervals, so that watchers that were away for some seconds find theirs gone.
 */
const compaction = '--kvstore-compaction-interval=2s';

/** The disks of stores that have one of their own. etcd allocates its log in pieces of 64 MB. */
const diskBytes = {embedded: 64 << 20, etcd: 512 << 20};

interface Parts {
  readonly directory: string;
  readonly servers: readonly ApiServer[];
  readonly members: readonly EtcdServer[];
  /** The disk of the store; why there is none otherwise. */
  readonly disk: Disk | string;
  /** The network of the members; why there is none otherwise. */
  readonly network: Network | string;
}

export class World implements AsyncDisposable {
  readonly servers: readonly ApiServer[];
  /** The members of etcd; none for other stores. */
  readonly members: readonly EtcdServer[];
  readonly disk: Disk | undefined;
  readonly network: Network | undefined;
  /** Why some faults cannot happen. */
  readonly missing: readonly string[];
  readonly #directory: string;

  private constructor({directory, servers, members, disk, network}: Parts) {
    this.#directory = directory;
    this.servers = servers;
    this.members = members;
    this.disk = typeof disk === 'string' ? undefined : disk;
    this.network = typeof network === 'string' ? undefined : network;
    this.missing = [
      typeof disk === 'string'
        ? disk
        : disk.canBeSlow
          ? unneeded
          : 'the disk cannot be slow: no loop device, mkfs.ext4, or control group of block devices',
      typeof network === 'string' ? network : unneeded,
    ].filter(why => why !== unneeded);
  }

  static async open(backend: Backend): Promise<World> {
    const directory = mkdtempSync(join(tmpdir(), 'plat-faults-'));
    const disk = backend in diskBytes ? Disk.mount(directory, diskBytes[backend as keyof typeof diskBytes]) : unneeded;
    const network = backend === 'etcd-three' ? Network.make() : unneeded;
    const members = await membersOf(backend, disk, network);
    const urls = members.map(({url}) => url).join(',');
    const args = urls ? [`--kvstore-servers=${urls}`] : [`--storage-backend=${backend}`];
    const servers: ApiServer[] = [];
    for (let index = 0; index < (backend === 'etcd-two' ? 2 : 1); index++) {
      const own = join(directory, `server-${index}`);
      mkdirSync(own);
      const store = backend === 'embedded' && typeof disk !== 'string' ? disk.path : own;
      servers.push(await ApiServer.start(own, join(store, 'store'), [...args, compaction]));
    }
    return new World({directory, servers, members, disk, network});
  }

  /** Compacts the history of etcd up to its present revision. */
  async compactEtcd(): Promise<void> {
    const post = async (path: string, body: object) =>
      (await (await fetch(`${this.members[0]!.url}/v3/kv/${path}`, {method: 'POST', body: JSON.stringify(body)})).json()) as {
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
    for (const member of this.members) {
      member.proceed();
      await member.stop();
    }
    this.network?.[Symbol.dispose]();
    this.disk?.[Symbol.dispose]();
    rmSync(this.#directory, {recursive: true, force: true});
  }
}

const unneeded = '';

const membersOf = async (backend: Backend, disk: Disk | string, network: Network | string): Promise<readonly EtcdServer[]> => {
  if (!backend.startsWith('etcd')) return [];
  if (backend === 'etcd-three') return EtcdServer.startThree(typeof network === 'string' ? [] : network.places);
  return [await EtcdServer.start(undefined, typeof disk === 'string' || !disk.canBeSlow ? {} : {directory: join(disk.path, 'etcd')})];
};
