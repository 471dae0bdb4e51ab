import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host, KernelLog, MountPoint} from '#src/platlet/host/host.js';
import {systemHost} from '#src/platlet/host/system-host.js';

/** A host on a temporary folder, for tests without root. Mounts are a list, and owners are noted. */
export interface FolderHost extends Host, Disposable {
  /** The folder that is the root of the host. */
  readonly root: string;
  readonly folders: NodeFolders;
  /** What is mounted. */
  readonly mounted: MountPoint[];
  /** The owners that were given, by path: `uid:gid`. */
  readonly owners: Map<string, string>;
  readonly killed: number[];
  /** Thrown by the next mounts. */
  readonly mountErrors: Error[];
  /** What the kernel says next. */
  readonly kernelMessages: string[];
  /** The limits of open files that were set. */
  readonly fileLimits: number[];
}

/** Returns a host on a new temporary folder. Paths are those of the real machine. */
export const folderHost = (): FolderHost => {
  const root = mkdtempSync(join(tmpdir(), 'platlet-'));
  const mounted: MountPoint[] = [];
  const owners = new Map<string, string>();
  const killed: number[] = [];
  const mountErrors: Error[] = [];
  const kernelMessages: string[] = [];
  const fileLimits: number[] = [];
  return {
    ...systemHost,
    root,
    folders: new NodeFolders({
      root: join(root, 'agent'),
      podLogs: join(root, 'logs', 'pods'),
      containerLogs: join(root, 'logs', 'containers'),
    }),
    mounted,
    owners,
    killed,
    mountErrors,
    kernelMessages,
    fileLimits,
    async status(path) {
      const found = await systemHost.status(path);
      return found && {...found, ...ownerOf(owners, path)};
    },
    async linkStatus(path) {
      const found = await systemHost.linkStatus(path);
      return found && {...found, ...ownerOf(owners, path)};
    },
    async changeOwner(path, uid, gid) {
      const before = ownerOf(owners, path);
      owners.set(path, `${uid < 0 ? (before.uid ?? 0) : uid}:${gid < 0 ? (before.gid ?? 0) : gid}`);
    },
    async mount({type, source, target, options = []}) {
      const error = mountErrors.shift();
      if (error) throw error;
      mounted.push({path: target, type: type === 'bind' ? 'ext4' : type, root: source, device: '0:1', source, options, isShared: false});
    },
    async shareMounts(path) {
      mounted.push({path, type: 'ext4', root: path, device: '0:1', source: path, options: [], isShared: true});
    },
    async unmount(path) {
      const at = mounted.findLastIndex(mount => mount.path === path);
      if (at >= 0) mounted.splice(at, 1);
    },
    mounts: () => Promise.resolve([...mounted]),
    isSelinuxEnabled: () => Promise.resolve(false),
    execute: async () => undefined,
    follow() {
      throw new Error('not expected');
    },
    async kill(pid) {
      killed.push(pid);
    },
    async limitOpenFiles(limit) {
      fileLimits.push(limit);
    },
    openKernelLog: async (): Promise<KernelLog> => ({
      next: async () => kernelMessages.shift(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
    [Symbol.dispose]: () => removeFolder(root),
  };
};

/** State that is written in the background may add a file in between: at most one, as it goes on only afterwards. */
const removeFolder = (folder: string): void => {
  try {
    rmSync(folder, {recursive: true, force: true});
  } catch {
    rmSync(folder, {recursive: true, force: true});
  }
};

const ownerOf = (owners: ReadonlyMap<string, string>, path: string): {uid?: number; gid?: number} => {
  const [uid, gid] = owners.get(path)?.split(':').map(Number) ?? [];
  return uid === undefined ? {} : {uid, gid: gid!};
};

/** Writes a file with its folders. */
export const put = async (host: Host, path: string, text = '', mode = 0o644): Promise<void> => {
  await host.makeFolder(dirname(path), 0o755);
  await host.writeFile(path, text, mode);
};

export const textOf = async (host: Host, path: string): Promise<string | undefined> => (await host.read(path))?.toString();

/** Gives a host the program `losetup`. Returns the files that have a loop device. */
export const loopDevicesOf = (host: FolderHost): readonly string[] => {
  const loops: string[] = [];
  host.execute = async (_, [option = '', path = '']) => {
    if (option === '-j') return {exitCode: 0, output: loops.includes(path) ? `/dev/loop7: [5]:1 (${path})\n` : ''};
    if (option === '-f') loops.push(path);
    else loops.pop();
    return {exitCode: 0, output: ''};
  };
  return loops;
};
