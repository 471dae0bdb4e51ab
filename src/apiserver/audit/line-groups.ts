import {nextTurn} from '#src/base/turn.js';
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

/** Writes lines in groups: those that come while a group is being written form the next one. */
export class LineGroups {
  readonly #write: WriteLines;
  #next: Group | undefined;
  #writing: Promise<void> | undefined;

  constructor(write: WriteLines) {
    this.#write = write;
  }

  add(line: Line): Promise<void> {
    const group = (this.#next ??= newGroup());
    group.lines.push(line);
    this.#writing ??= this.#writeAll();
    return group.written;
  }

  /** Resolves once all lines are written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await nextTurn(); // The lines of one turn of the event loop form one group.
    for (let group = this.#next; group; group = this.#next) {
      this.#next = undefined;
      const writing = this.#write(group.lines);
      group.settle(writing);
      await writing.catch(() => undefined);
    }
    this.#writing = undefined;
  }
}
