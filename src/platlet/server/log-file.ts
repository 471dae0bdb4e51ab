// Reads the log file of a container, from a position near its end if only the last lines are wanted, and follows it
// across rotations.

import {dirname} from 'node:path';
import type {LogQuery} from '#src/api/node/agent.js';
import type {BlockReader} from '#src/base/files/block-reader.js';
import type {Files} from '#src/base/files/files.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {yieldInTurn} from '#src/base/turn.js';
import {LogWriter, parseLogLine} from './log-lines.js';

export interface ReadLogParts {
  /** The path of the file, which is reused by a new file on rotation. */
  readonly path: string;
  readonly query: LogQuery;
  readonly files: Pick<Files, 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  open(path: string): Promise<BlockReader | undefined>;
  /** Whether the container may still write. */
  isRunning(): Promise<boolean>;
}

const blockBytes = 64 << 10;
/** The maximum length of a line; the runtime splits longer ones. */
const maxLineBytes = 1 << 20;
/** How often a followed log is polled, besides notifications of the file system. */
const pollMs = 1_000;
/** The time to live of the answer that a container is running. */
const askMs = 250;
const newline = 0x0a;

/** Returns the position of the last so many lines of a file. */
export const startOfLast = async (file: BlockReader, lines: number): Promise<number> => {
  let end = await file.size();
  if (lines === 0) return end;
  let left = lines;
  // The newline that ends the last line does not begin another.
  const last = end > 0 ? await file.read(end - 1, 1) : Buffer.alloc(0);
  if (last[0] === newline) end--;
  while (end > 0) {
    const start = Math.max(0, end - blockBytes);
    const block = await file.read(start, end - start);
    for (let at = block.lastIndexOf(newline); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(newline, at - 1))
      if (--left === 0) return start + at + 1;
    end = start;
  }
  return 0;
};

/** Yields the requested part of a log. A missing log is empty. */
export async function* readLogFile(parts: ReadLogParts): AsyncGenerator<Buffer, void, undefined> {
  const {path, query, open, signal} = parts;
  const writer = new LogWriter(query, blockBytes);
  const growing = new Growing(parts);
  let file = query.follow ? await appeared(parts) : await open(path);
  if (!file) return;
  try {
    let reading = new Reading(file, parts, writer);
    if (query.tailLines !== undefined) await reading.skipTo(query.tailLines);
    while (!signal.aborted && !writer.isFull) {
      // Asked before reading, so that everything written before the exit is read.
      const mayGrow = query.follow && (await growing.now());
      yield* reading.more();
      if (!mayGrow) return void (yield* reading.rest());
      const next = await open(path);
      if (next && next.id !== file.id) {
        yield* reading.more(); // Everything written before the rename.
        await file[Symbol.asyncDispose]();
        file = next;
        reading = new Reading(file, parts, writer);
      } else {
        await next?.[Symbol.asyncDispose]();
        if (!writer.isFull) await changed(parts);
      }
    }
  } finally {
    await file[Symbol.asyncDispose]();
  }
}

/** Resolves to the file once it exists; to undefined when the container has exited without one. */
const appeared = async (parts: ReadLogParts): Promise<BlockReader | undefined> => {
  const {path, open, signal, isRunning} = parts;
  while (!signal.aborted) {
    const mayCome = await isRunning();
    const file = await open(path);
    if (file || !mayCome) return file;
    await changed(parts);
  }
  return undefined;
};

/** Whether a container may still write. A positive answer is cached. */
class Growing {
  readonly #parts: Pick<ReadLogParts, 'clock' | 'isRunning'>;
  #askedAt = -Infinity;

  constructor(parts: Pick<ReadLogParts, 'clock' | 'isRunning'>) {
    this.#parts = parts;
  }

  async now(): Promise<boolean> {
    const {clock, isRunning} = this.#parts;
    if (clock.monotonic() < this.#askedAt + askMs) return true;
    const runs = await isRunning();
    this.#askedAt = runs ? clock.monotonic() : -Infinity;
    return runs;
  }
}

/** Reads one file sequentially, line by line. */
class Reading {
  readonly #file: BlockReader;
  readonly #parts: Pick<ReadLogParts, 'path' | 'log' | 'signal'>;
  readonly #writer: LogWriter;
  #position = 0;
  #begun: Buffer = Buffer.alloc(0);

  constructor(file: BlockReader, parts: Pick<ReadLogParts, 'path' | 'log' | 'signal'>, writer: LogWriter) {
    this.#file = file;
    this.#parts = parts;
    this.#writer = writer;
  }

  /** Moves to the last so many lines. */
  async skipTo(lines: number): Promise<void> {
    this.#position = await startOfLast(this.#file, lines);
  }

  /** Yields the output of the complete lines. */
  async *more(): AsyncGenerator<Buffer, void, undefined> {
    while (!this.#writer.isFull && !this.#parts.signal.aborted) {
      const block = await this.#file.read(this.#position, blockBytes);
      if (block.length === 0) return;
      await yieldInTurn(this.#parts.path); // All readers of a log together delay other work by one block at a time.
      this.#position += block.length;
      const output = this.#written(block);
      if (output.length > 0) yield output;
    }
  }

  /** Yields the output of a last line without newline. */
  *rest(): Generator<Buffer, void, undefined> {
    if (this.#begun.length === 0 || this.#writer.isFull) return;
    this.#line(this.#begun, 0, this.#begun.length);
    yield this.#writer.take();
  }

  #written(block: Buffer): Buffer {
    const whole = this.#begun.length > 0 ? Buffer.concat([this.#begun, block]) : block;
    let at = 0;
    for (let end = whole.indexOf(newline); end >= 0 && !this.#writer.isFull; end = whole.indexOf(newline, at)) {
      this.#line(whole, at, end);
      at = end + 1;
    }
    const rest = whole.subarray(at);
    this.#begun = rest.length > maxLineBytes ? Buffer.alloc(0) : Buffer.from(rest);
    return this.#writer.take();
  }

  #line(block: Buffer, start: number, end: number): void {
    const line = parseLogLine(block, start, end);
    if (line) this.#writer.write(line);
    else if (end > start)
      this.#parts.log.error({line: block.toString('utf8', start, Math.min(end, start + 256))}, 'failed to parse a line of a log');
  }
}

/** Resolves when the log directory has changed, after a poll interval, or when the signal aborts. */
const changed = ({path, files, clock, signal}: ReadLogParts): Promise<void> =>
  new Promise(resolve => {
    const done = (): void => {
      watch[Symbol.dispose]();
      timer[Symbol.dispose]();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const watch = files.watch(dirname(path), done);
    const timer = clock.schedule(pollMs, done);
    signal.addEventListener('abort', done, {once: true});
    if (signal.aborted) done();
  });
