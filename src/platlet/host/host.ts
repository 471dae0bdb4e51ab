// The port to the machine: files with modes and owners, mounts, and processes. `system-host.ts` implements it; tests
// have one on a temporary directory that does not need root. A missing file is no error where a method says so; all
// else rejects with the error of the system call.

export type FileKind = 'file' | 'folder' | 'link' | 'socket' | 'character' | 'block' | 'pipe';

export interface FileStatus {
  readonly kind: FileKind;
  /** The permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly bytes: number;
  readonly modifiedAt: number;
}

/** A mount to create: `mount -t TYPE -o OPTIONS SOURCE TARGET`, or a bind mount. */
export interface MountRequest {
  readonly type: 'tmpfs' | 'hugetlbfs' | 'bind';
  readonly source: string;
  readonly target: string;
  readonly options?: readonly string[];
}

/** A line of the table of mounts. */
export interface MountPoint {
  readonly path: string;
  readonly type: string;
  /** The root of the mount in its file system. */
  readonly root: string;
  readonly source: string;
  /** The numbers of its file system: `8:1`. */
  readonly device: string;
  /** Options of the mount and of its file system. */
  readonly options: readonly string[];
  /** Whether its mount propagation is shared. */
  readonly isShared: boolean;
}

/** The kernel log (`/dev/kmsg`). */
export interface KernelLog extends AsyncDisposable {
  /** Returns the next message, starting with those already logged; undefined if there is none now. */
  next(): Promise<string | undefined>;
}

/** The memory usage of a cgroup of version 1, in bytes, to be notified about. */
export interface MemoryThreshold {
  /** The folder of the cgroup, of the controller `memory`. */
  readonly folder: string;
  readonly bytes: number;
}

/** Notifies about memory usage until it is disposed of. */
export interface MemoryWatch extends Disposable {
  /** Replaces the thresholds. */
  set(thresholds: readonly MemoryThreshold[]): void;
}

/** How a program ended. */
export interface Finished {
  /** -1 if a signal ended it. */
  readonly exitCode: number;
  /** What it printed, errors included. */
  readonly output: string;
}

/** Hears a program that runs beside the agent. */
export interface ProgramListener {
  /** It has printed a line, also one of errors. */
  line(text: string): void;
  /** It has ended by itself, or could not be started. */
  ended(message: string): void;
}

/** The size of a file system. */
export interface Space {
  readonly totalBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** A file or directory that is held open, so that it stays the same whatever happens to the names in its path. */
export interface HeldFile extends Disposable {
  /** A path to it for other processes while it is held. */
  readonly path: string;
  readonly kind: FileKind;
}

/** The operations on the machine. */
export interface Host {
  /** Follows links. Undefined if nothing is there. */
  status(path: string): Promise<FileStatus | undefined>;
  /** Does not follow a link at the end. Undefined if nothing is there. */
  linkStatus(path: string): Promise<FileStatus | undefined>;
  /** Returns the names in a folder, sorted; none if it is missing. */
  list(path: string): Promise<readonly string[]>;
  /** Undefined if the file is missing. */
  read(path: string): Promise<Buffer | undefined>;
  /** Returns at most so many bytes from the start of a file; empty if it is missing. */
  readStart(path: string, bytes: number): Promise<Buffer>;
  /** Returns at most so many bytes from the end of a file; empty if it is missing. */
  readEnd(path: string, bytes: number): Promise<Buffer>;
  /** Writes into an existing file, as those of cgroups and kernel parameters are. */
  writeInto(path: string, text: string): Promise<void>;
  /** Creates a file, or replaces the content of one, with this mode whatever the umask is. */
  writeFile(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /** Creates a folder and its parents, with this mode whatever the umask is; one that exists stays as it is. */
  makeFolder(path: string, mode: number): Promise<void>;
  changeMode(path: string, mode: number): Promise<void>;
  /** Does not follow links. -1 leaves an owner as it is. */
  changeOwner(path: string, uid: number, gid: number): Promise<void>;
  link(target: string, path: string): Promise<void>;
  linkTarget(path: string): Promise<string>;
  /** Returns a path without links; undefined if nothing is there. */
  realPath(path: string): Promise<string | undefined>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or a link; a missing one is no error. */
  removeFile(path: string): Promise<void>;
  /** Removes an empty folder; a missing one is no error. */
  removeFolder(path: string): Promise<void>;
  /** Removes a folder with its content, which must have no mounts. */
  removeTree(path: string): Promise<void>;
  /** Compresses a file. */
  compress(from: string, to: string): Promise<void>;

  /**
   * Opens a path below a folder, one name at a time and without following links, and creates folders that are missing
   * if they have a mode. Rejects if a name leads out.
   */
  hold(folder: string, names: readonly string[], makeMode?: number): Promise<HeldFile>;

  mount(request: MountRequest): Promise<void>;
  unmount(path: string): Promise<void>;
  /** Bind mounts a directory onto itself, with the mounts below it, and makes its propagation shared. */
  shareMounts(path: string): Promise<void>;
  /** Returns the mounts, in the order in which they were made. */
  mounts(): Promise<readonly MountPoint[]>;
  /** Whether SELinux is enabled on the machine. */
  isSelinuxEnabled(): Promise<boolean>;
  space(path: string): Promise<Space>;
  /** Returns a number for the file system that a path is on. */
  device(path: string): Promise<number>;
  /** Runs a program of the machine to its end. Undefined if it is not installed. */
  execute(program: string, args: readonly string[]): Promise<Finished | undefined>;
  /**
   * Starts a program with an open input, which ends with the agent however that ends. Disposing of it closes the input
   * and ends it.
   */
  follow(program: string, args: readonly string[], listener: ProgramListener): Disposable;
  /** Kills a process; one that is gone is no error. */
  kill(pid: number): Promise<void>;
  /** Sets the open file limit of this process. */
  limitOpenFiles(limit: number): Promise<void>;
  openKernelLog(): Promise<KernelLog>;
  /** `crossed` is called when usage crosses a threshold, in either direction; `failed` if the watch ends by itself. */
  openMemoryWatch(crossed: () => void, failed: (message: string) => void): Promise<MemoryWatch>;
}

/** Returns the mounts at or below a path, nested ones first. */
export const mountsBelow = async (host: Pick<Host, 'mounts'>, path: string): Promise<readonly MountPoint[]> =>
  (await host.mounts()).filter(mount => mount.path === path || mount.path.startsWith(`${path}/`)).toReversed();

/** Removes a directory tree. Mounts below it are unmounted first, so that no data of others is deleted. */
export const removeUnmounted = async (host: Host, path: string): Promise<void> => {
  for (const mount of await mountsBelow(host, path)) await host.unmount(mount.path);
  const left = await mountsBelow(host, path);
  if (left.length > 0) throw new Error(`${left[0]!.path} is still mounted`);
  await host.removeTree(path);
};
