// The rotated files of a log: `NAME-2026-01-02T03-04-05.000.EXT`, with `.gz` once compressed. Their age is that in
// their names.

import {createReadStream, createWriteStream} from 'node:fs';
import {access, readdir, rm, stat} from 'node:fs/promises';
import {basename, dirname, extname, join} from 'node:path';
import {pipeline} from 'node:stream/promises';
import {createGzip} from 'node:zlib';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';

/** Which rotated files are kept, and in which form. */
export interface Retention {
  /** 0 keeps them whatever their age. */
  readonly maxAgeDays: number;
  /** 0 keeps all. */
  readonly maxFiles: number;
  readonly compress: boolean;
}

export interface OldLogFilesOptions {
  readonly path: string;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Log;
}

interface OldFile {
  readonly name: string;
  readonly at: number;
  readonly isCompressed: boolean;
}

const dayMs = 86_400_000;
const suffix = '.gz';

/** A time in a file name: colons are not allowed everywhere. */
const timeText = (at: number): string => new Date(at).toISOString().replaceAll(':', '-').replace('Z', '');
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}$/;
const timeOf = (text: string): number | undefined =>
  timePattern.test(text) ? Date.parse(`${text.slice(0, 11)}${text.slice(11).replaceAll('-', ':')}Z`) : undefined;

export class OldLogFiles {
  readonly #options: OldLogFilesOptions;
  readonly #folder: string;
  readonly #start: string;
  readonly #end: string;
  #cleaning: Promise<void> | undefined;
  #isDue = false;

  constructor(options: OldLogFilesOptions) {
    this.#options = options;
    const {path} = options;
    this.#folder = dirname(path);
    this.#end = extname(path);
    this.#start = `${basename(path, this.#end)}-`;
  }

  /**
   * Returns the path that the current file is renamed to. It is unused: two rotations in a millisecond get two names.
   */
  async nextName(): Promise<string> {
    for (let at = this.#options.clock.now(); ; at++) {
      const path = join(this.#folder, `${this.#start}${timeText(at)}${this.#end}`);
      const isUsed = await Promise.all([path, path + suffix].map(used => access(used).then(() => true, () => false))); // prettier-ignore
      if (!isUsed.includes(true)) return path;
    }
  }

  /** Removes and compresses files in the background. A failure is logged, and tried again after the next rotation. */
  clean(): void {
    this.#isDue = true;
    this.#cleaning ??= withClockHeld(this.#options.clock, () => this.#cleanAll()).finally(() => (this.#cleaning = undefined));
  }

  async settled(): Promise<void> {
    await this.#cleaning;
  }

  async #cleanAll(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await this.#cleanOnce();
      } catch (error) {
        this.#options.log.warn({path: this.#options.path, err: error}, 'old audit log files could not be removed or compressed');
      }
    }
  }

  async #cleanOnce(): Promise<void> {
    const {
      retention: {maxAgeDays, maxFiles, compress},
      clock,
    } = this.#options;
    if (maxAgeDays === 0 && maxFiles === 0 && !compress) return;
    const files = await this.#files();
    const oldest = maxAgeDays > 0 ? clock.now() - maxAgeDays * dayMs : -Infinity;
    // A file that is being compressed exists twice for a while.
    const times = [...new Set(files.map(({at}) => at))];
    const kept = new Set((maxFiles > 0 ? times.slice(0, maxFiles) : times).filter(at => at >= oldest));
    for (const {name, at, isCompressed} of files) {
      const path = join(this.#folder, name);
      if (!kept.has(at)) await rm(path, {force: true});
      else if (compress && !isCompressed) await compressed(path);
    }
  }

  /** The rotated files, the newest first. */
  async #files(): Promise<OldFile[]> {
    const found: OldFile[] = [];
    for (const name of await readdir(this.#folder)) {
      const isCompressed = name.endsWith(this.#end + suffix);
      const end = isCompressed ? this.#end + suffix : this.#end;
      if (!name.startsWith(this.#start) || !name.endsWith(end)) continue;
      const at = timeOf(name.slice(this.#start.length, name.length - end.length));
      if (at !== undefined) found.push({name, at, isCompressed});
    }
    return found.sort((a, b) => b.at - a.at);
  }
}

/** Replaces a file by its compressed form, which never exists in part without the file. */
const compressed = async (path: string): Promise<void> => {
  const {mode} = await stat(path);
  const target = path + suffix;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(target, {mode: mode & 0o777}));
  } catch (error) {
    await rm(target, {force: true});
    throw error;
  }
  await rm(path);
};
