/** Writes several lines at once, in order. Rejects if none of them was written. */
type WriteLines = (lines: readonly Buffer[]) => Promise<void>;

interface Group {
  readonly lines: Buffer[];
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

  add(line: Buffer): Promise<void> {
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
    await Promise.resolve(); // The lines of one turn form one group.
    for (let group = this.#next; group; group = this.#next) {
      this.#next = undefined;
      const writing = this.#write(group.lines);
      group.settle(writing);
      await writing.catch(() => undefined);
    }
    this.#writing = undefined;
  }
}
