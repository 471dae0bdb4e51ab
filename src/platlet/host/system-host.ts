// The machine that this process runs on.

import {execFile} from 'node:child_process';
import {constants, createReadStream, createWriteStream, type Stats} from 'node:fs';
import * as fs from 'node:fs/promises';
import {dirname} from 'node:path';
import {pipeline} from 'node:stream/promises';
import {promisify} from 'node:util';
import {createGzip} from 'node:zlib';
import {systemMessageOf} from '#src/base/message.js';
import {followProgram} from './follow-program.js';
import type {FileKind, FileStatus, Finished, HeldFile, Host, KernelLog, MountPoint, MountRequest} from './host.js';
import {openMemoryWatch} from './memory-watch.js';
import {parseMounts} from './mount-table.js';
import {isSelinuxEnabled} from './selinux.js';

const run = promisify(execFile);

/** O_PATH: opens a file without reading or writing it (Linux). Node.js has no constant for it. */
const openPath = 0o10000000;
const permissions = 0o7777;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

/** Returns the result, or another one if nothing is at the path. */
const orElse = async <T, U>(work: Promise<T>, other: U): Promise<T | U> => {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return other;
    throw error;
  }
};

const kindOf = (stats: Stats): FileKind => {
  if (stats.isDirectory()) return 'folder';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isSocket()) return 'socket';
  if (stats.isCharacterDevice()) return 'character';
  if (stats.isBlockDevice()) return 'block';
  return stats.isFIFO() ? 'pipe' : 'file';
};

const statusOf = (stats: Stats | undefined): FileStatus | undefined =>
  stats && {
    kind: kindOf(stats),
    mode: stats.mode & permissions,
    uid: stats.uid,
    gid: stats.gid,
    bytes: stats.size,
    modifiedAt: stats.mtimeMs,
  };

const readPart = async (path: string, bytes: number, part: 'start' | 'end'): Promise<Buffer> => {
  const file = await orElse(fs.open(path, 'r'), undefined);
  if (!file) return Buffer.alloc(0);
  try {
    const {size} = await file.stat();
    const length = Math.min(size, bytes);
    const {buffer, bytesRead} = await file.read(Buffer.alloc(length), 0, length, part === 'start' ? 0 : size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

/** Not a recursive mkdir, which never returns on file systems that refuse to create directories. */
const makeFolder = async (path: string, mode: number): Promise<void> => {
  if (await orElse(fs.stat(path), undefined)) return;
  await makeFolder(dirname(path), mode);
  await fs.mkdir(path, {mode}).then(() => fs.chmod(path, mode), ignoreExisting);
};

/** The directory of the open files of this process, as all processes see it. */
const filesOfProcess = `/proc/${process.pid}/fd`;

const hold = async (folder: string, names: readonly string[], makeMode?: number): Promise<HeldFile> => {
  const open = (path: string): Promise<fs.FileHandle> => fs.open(path, openPath | constants.O_NOFOLLOW);
  let file = await fs.open(folder, openPath | constants.O_DIRECTORY);
  try {
    for (const name of names) {
      if (name === '' || name === '.' || name === '..' || name.includes('/'))
        throw new Error(`${JSON.stringify(name)} is no name of a file`);
      // Nothing on the path below an open directory can be exchanged for a link.
      const path = `/proc/self/fd/${file.fd}/${name}`;
      if (makeMode !== undefined) await fs.mkdir(path, {mode: makeMode}).then(() => fs.chmod(path, makeMode), ignoreExisting);
      const next = await open(path);
      await file.close();
      file = next;
      if ((await file.stat()).isSymbolicLink()) throw new Error(`${JSON.stringify(name)} is a symbolic link`);
    }
    const kind = kindOf(await file.stat());
    return {path: `${filesOfProcess}/${file.fd}`, kind, [Symbol.dispose]: () => void file.close().catch(() => {})};
  } catch (error) {
    await file.close();
    throw error;
  }
};

const ignoreExisting = (error: unknown): void => {
  if (codeOf(error) !== 'EEXIST') throw error;
};

const mount = async ({type, source, target, options = []}: MountRequest): Promise<void> => {
  // The source may be an open file, whose path must stay as it is.
  const how = type === 'bind' ? ['--no-canonicalize', '--bind'] : ['-t', type];
  const bare = options.filter(option => type !== 'bind' || option !== 'ro');
  try {
    await run('mount', [...how, ...(bare.length > 0 ? ['-o', bare.join(',')] : []), source, target]);
    // The kernel ignores this option of a new bind mount.
    if (bare.length < options.length) await run('mount', ['-o', 'remount,bind,ro', target]);
  } catch (error) {
    const {stderr = ''} = error as {stderr?: string};
    throw new Error(`mount failed: ${stderr.trim() || String(error)}`, {cause: error});
  }
};

const shareMounts = async (path: string): Promise<void> => {
  try {
    await run('mount', ['--rbind', path, path]);
    await run('mount', ['--make-rshared', path]);
  } catch (error) {
    const {stderr = ''} = error as {stderr?: string};
    throw new Error(`mount failed: ${stderr.trim() || String(error)}`, {cause: error});
  }
};

const kernelLogFile = '/dev/kmsg';
/** More than the longest message. */
const messageBytes = 16_384;

/** Opens the kernel log without blocking: a blocking read would occupy a thread. Without a message the read fails. */
const openKernelLog = async (): Promise<KernelLog> => {
  const file = await fs.open(kernelLogFile, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new Error(`open ${kernelLogFile}: ${systemMessageOf(error)}`, {cause: error});
  });
  const buffer = Buffer.alloc(messageBytes);
  return {
    async next() {
      for (;;) {
        try {
          const {bytesRead} = await file.read(buffer, 0, messageBytes, null);
          return buffer.toString('utf8', 0, bytesRead);
        } catch (error) {
          if (codeOf(error) === 'EAGAIN') return undefined;
          // Messages were overwritten before they were read.
          if (codeOf(error) !== 'EPIPE') throw error;
        }
      }
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
};

const unmount = async (path: string): Promise<void> => {
  try {
    await run('umount', [path]);
  } catch (error) {
    const {stderr = ''} = error as {stderr?: string};
    if (/not mounted|no mount point/.test(stderr)) return;
    throw new Error(`unmount failed: ${stderr.trim() || String(error)}`, {cause: error});
  }
};

const execute = (program: string, args: readonly string[]): Promise<Finished | undefined> =>
  new Promise((resolve, reject) => {
    execFile(program, args, (error, stdout, stderr) => {
      const output = stdout + stderr;
      const code: unknown = error?.code;
      if (!error) resolve({exitCode: 0, output});
      else if (code === 'ENOENT') resolve(undefined);
      else if (typeof code === 'string') reject(error);
      else resolve({exitCode: typeof code === 'number' ? code : -1, output});
    });
  });

/** Returns the names in a folder, sorted; none if it is missing. */
const list = async (path: string): Promise<readonly string[]> => (await orElse(fs.readdir(path), [])).sort();

const remove = async (path: string): Promise<void> => {
  await orElse(fs.unlink(path), undefined);
};

const mounts = async (): Promise<readonly MountPoint[]> => parseMounts(await fs.readFile('/proc/self/mountinfo', 'utf8'));

/** The machine that this process runs on. */
export const systemHost: Host = {
  status: async path => statusOf(await orElse(fs.stat(path), undefined)),
  linkStatus: async path => statusOf(await orElse(fs.lstat(path), undefined)),
  list,
  read: path => orElse(fs.readFile(path), undefined),
  readStart: (path, bytes) => readPart(path, bytes, 'start'),
  readEnd: (path, bytes) => readPart(path, bytes, 'end'),
  async writeInto(path, text) {
    await fs.writeFile(path, text, {flag: (constants.O_WRONLY | constants.O_TRUNC) as never});
  },
  async writeFile(path, content, mode) {
    await fs.writeFile(path, content, {mode});
    await fs.chmod(path, mode);
  },
  makeFolder,
  changeMode: (path, mode) => fs.chmod(path, mode),
  changeOwner: (path, uid, gid) => fs.lchown(path, uid, gid),
  link: (target, path) => fs.symlink(target, path),
  linkTarget: path => fs.readlink(path),
  realPath: path => orElse(fs.realpath(path), undefined),
  rename: (from, to) => fs.rename(from, to),
  removeFile: remove,
  async removeFolder(path) {
    await orElse(fs.rmdir(path), undefined);
  },
  removeTree: path => fs.rm(path, {recursive: true, force: true}),
  compress: (from, to) => pipeline(createReadStream(from), createGzip(), createWriteStream(to, {mode: 0o600})),
  hold,
  mount,
  unmount,
  shareMounts,
  mounts,
  async isSelinuxEnabled() {
    const label = await fs.readFile('/proc/self/attr/current', 'utf8').catch(() => '');
    return isSelinuxEnabled(await mounts(), label);
  },
  async space(path) {
    const {bsize, blocks, bavail, files, ffree} = await fs.statfs(path);
    return {totalBytes: blocks * bsize, availableBytes: bavail * bsize, inodes: files, inodesFree: ffree};
  },
  async device(path) {
    return (await fs.stat(path)).dev;
  },
  execute,
  follow: followProgram,
  async kill(pid) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  },
  async limitOpenFiles(limit) {
    await run('prlimit', [`--pid=${process.pid}`, `--nofile=${limit}:${limit}`]);
  },
  openMemoryWatch,
  openKernelLog,
};
