// A log file that is rotated: when it has reached its size it is renamed, and a new one is begun. Lines are written
// whole: what a failed write left is taken back. Old files are named, compressed and removed by old-log-files.ts.

import {writeSync} from 'node:fs';
import {open, rename, type FileHandle} from 'node:fs/promises';
import {dirname} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import {makeFolder} from '#src/base/files/folder.js';
import type {Log} from '#src/base/log.js';
import {LineGroups} from './line-groups.js';
import type {Line, LineWriter} from './log-sink.js';
import {OldLogFiles, type Retention} from './old-log-files.js';

export interface LogFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Log;
}

/** Mode of new files: events describe the requests of all users. */
const mode = 0o600;

/**
 * As many bytes are written in this thread, which takes microseconds: each hop to another thread would delay a
 * response.
 */
const bytesAtOnce = 64 << 10;

/** A character of a text takes this many bytes in UTF-8 at most. */
const bytesPerCharacter = 3;

/** Whether a line has more bytes. They are only counted where that is in doubt: counting takes as long as writing. */
const isLonger = (line: Line, bytes: number): boolean =>
  line.length > bytes || (typeof line === 'string' && line.length * bytesPerCharacter > bytes && Buffer.byteLength(line) > bytes);

/** A file of lines, open for appending. */
export class LogFile implements LineWriter {
  readonly #options: LogFileOptions;
  readonly #old: OldLogFiles;
  readonly #groups = new LineGroups(lines => this.#append(lines));
  /** Lines are encoded here before they are written: a buffer for each would keep the garbage collector busy. */
  readonly #scratch = Buffer.allocUnsafeSlow(bytesPerCharacter * bytesAtOnce);
  #file: FileHandle | undefined;
  /** The file's size; undefined for what is no file, such as a device, which is never rotated. */
  #size: number | undefined;
  #mode = mode;

  private constructor(options: LogFileOptions) {
    this.#options = options;
    this.#old = new OldLogFiles(options);
  }

  /** Opens or creates the file and its folders. Rejects if it cannot be written. */
  static async open(options: LogFileOptions): Promise<LogFile> {
    const log = new LogFile(options);
    makeFolder(dirname(options.path));
    await log.#open();
    log.#old.clean();
    return log;
  }

  write(line: Line, isAwaited?: boolean): Promise<void> {
    const {maxBytes} = this.#options;
    return this.#size !== undefined && isLonger(line, maxBytes)
      ? Promise.reject(new Error(`write length ${Buffer.byteLength(line)} exceeds maximum file size ${maxBytes}`))
      : this.#groups.add(line, isAwaited);
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    await this.#old.settled();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    const file = await open(this.#options.path, 'a', this.#mode);
    const found = await file.stat();
    this.#file = file;
    this.#size = found.isFile() ? found.size : undefined;
    if (found.isFile()) this.#mode = found.mode & 0o777;
    return file;
  }

  async #append(lines: readonly Line[]): Promise<void> {
    using _ = this.#options.clock.hold();
    const text = this.#shortText(lines);
    if (text === undefined) await this.#appendEach(lines);
    else await this.#writeAll(this.#scratch.subarray(0, this.#scratch.write(text)), this.#size);
  }

  /** The lines as one text, if it surely fits into the scratch and the file. */
  #shortText(lines: readonly Line[]): string | undefined {
    const {maxBytes} = this.#options;
    const room = Math.min(this.#scratch.length, this.#size === undefined ? Infinity : maxBytes - this.#size);
    // Concatenated, and not joined: the text is made flat once, when it is written.
    let text = '';
    for (const line of lines) {
      if (typeof line !== 'string') return undefined;
      text += line;
      if (text.length * bytesPerCharacter > room) return undefined;
    }
    return text;
  }

  async #appendEach(lines: readonly Line[]): Promise<void> {
    const scratch = this.#scratch;
    let start = this.#size;
    let filled = 0;
    const flush = async (): Promise<void> => {
      if (filled > 0) await this.#writeAll(scratch.subarray(0, filled), start);
      filled = 0;
    };
    for (const line of lines) {
      const length = Buffer.byteLength(line);
      const isFull = this.#size !== undefined && this.#size + filled + length > this.#options.maxBytes;
      if (isFull || filled + length > scratch.length) await flush();
      if (isFull) {
        await this.#rotate();
        start = this.#size;
      }
      if (length > scratch.length) await this.#writeAll(Buffer.from(line), start);
      else if (typeof line === 'string') filled += scratch.write(line, filled);
      else filled += line.copy(scratch, filled);
    }
    await flush();
  }

  /** Writes bytes of a group of lines that begins at `start`. If that fails, the whole group is taken back. */
  async #writeAll(bytes: Buffer, start: number | undefined): Promise<void> {
    const file = this.#file ?? (await this.#open());
    const before = this.#size;
    try {
      for (let at = 0; at < bytes.length;)
        at += bytes.length <= bytesAtOnce ? writeSync(file.fd, bytes, at) : (await file.write(bytes, at)).bytesWritten;
    } catch (error) {
      // A part of a line would spoil the next one.
      if (before !== undefined) {
        const size = Math.min(start ?? before, before);
        this.#size = await file.truncate(size).then(
          () => size,
          () => before,
        );
      }
      throw error;
    }
    if (before !== undefined) this.#size = before + bytes.length;
  }

  async #rotate(): Promise<void> {
    const {path} = this.#options;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
    await rename(path, await this.#old.nextName());
    await this.#open();
    this.#old.clean();
  }
}
