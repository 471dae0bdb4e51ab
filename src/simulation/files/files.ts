import {posix} from 'node:path';

/** The remaining bytes for the files of all containers. */
export interface Budget {
  left: number;
}

export interface StoredFile {
  readonly content: Buffer;
  readonly mode: number;
  /** In ms since the epoch. */
  readonly modifiedAt: number;
}

/** Thrown when there is not enough space for a file. */
export class NoSpace extends Error {
  override readonly name = 'NoSpace';
}

/** Limits of one container. */
const maxBytes = 16 << 20;
const maxFiles = 10_000;

/** Directories that exist in every container. */
const standardDirectories = ['/', '/bin', '/dev', '/etc', '/home', '/opt', '/root', '/tmp', '/usr', '/var', '/var/log', '/var/run'];

/** The file system of a container, in memory: files from rules and files copied into it. */
export class Files implements Disposable {
  readonly #budget: Budget;
  readonly #files = new Map<string, StoredFile>();
  readonly #directories: Set<string>;
  #bytes = 0;

  constructor(budget: Budget, directories: readonly string[]) {
    this.#budget = budget;
    this.#directories = new Set([...standardDirectories, ...directories.map(path => posix.normalize(path).replace(/(.)\/$/, '$1'))]);
  }

  get(path: string): StoredFile | undefined {
    return this.#files.get(path);
  }

  isDirectory(path: string): boolean {
    if (this.#directories.has(path)) return true;
    for (const name of this.#files.keys()) if (name.startsWith(`${path}/`)) return true;
    return false;
  }

  addDirectory(path: string): void {
    if (this.#directories.size >= maxFiles) throw new NoSpace();
    this.#directories.add(path);
  }

  hasRoom(bytes: number): boolean {
    return bytes <= this.#budget.left && this.#bytes + bytes <= maxBytes && this.#files.size < maxFiles;
  }

  /** Throws `NoSpace` if there is not enough space. */
  put(path: string, file: StoredFile): void {
    const more = file.content.length - (this.#files.get(path)?.content.length ?? 0);
    if (!this.hasRoom(more)) throw new NoSpace();
    this.#budget.left -= more;
    this.#bytes += more;
    this.#files.set(path, file);
  }

  /** Returns all files at or below a path, sorted by path. */
  under(path: string): [path: string, file: StoredFile][] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.#files].filter(([name]) => name === path || name.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Removes everything at or below a path. */
  remove(path: string): void {
    for (const [name, {content}] of this.under(path)) {
      this.#files.delete(name);
      this.#bytes -= content.length;
      this.#budget.left += content.length;
    }
    this.#directories.delete(path);
  }

  [Symbol.dispose](): void {
    this.remove('/');
  }
}
