import type {Line} from './log-sink.js';

/** Writes several lines at once, in order. Rejects if none of them was written. */
type WriteLines = (lines: readonly Line[]) => Promise<void>;

interface Group {
  readonly lines: Line[];
  readonly written: Promise<void>;
  settle(writing: Promise<void>): void;
}

const newGroup = (): Group => {
  let settle!: Group['settle'];
  const written = new Promise<void>(resolve => (settle = resolve));
  return {lines: [], written, settle};
};

/**
 * Writes lines in groups: those of one turn of the event loop, and those that come while a group is being written. A
 * group with a line for which a response waits is written as soon as the jobs that are due now have run, since a turn
 * of a busy loop takes milliseconds: these are often the responses to all requests of one commit.
 */
export class LineGroups {
  readonly #write: WriteLines;
  #next: Group | undefined;
  #writing: Promise<void> | undefined;
  /** Begins to write; undefined once that has begun. */
  #begin: (() => void) | undefined;

  constructor(write: WriteLines) {
    this.#write = write;
  }

  add(line: Line, isAwaited = true): Promise<void> {
    const group = (this.#next ??= newGroup());
    group.lines.push(line);
    this.#writing ??= this.#writeAll();
    if (isAwaited && this.#begin) {
      process.nextTick(this.#begin);
      this.#begin = undefined;
    }
    return group.written;
  }

  /** Resolves once all lines are written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await new Promise<void>(begin => {
      this.#begin = begin;
      setImmediate(begin);
    });
    this.#begin = undefined;
    for (let group = this.#next; group; group = this.#next) {
      this.#next = undefined;
      const writing = this.#write(group.lines);
      group.settle(writing);
      await writing.catch(() => undefined);
    }
    this.#writing = undefined;
  }
}
