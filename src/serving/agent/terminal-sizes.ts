import type {TerminalSize} from '#src/api/node/agent.js';

/** The most text of sizes that is kept while it is not complete. */
const maxText = 4096;

/**
 * The sizes of a client's terminal, in the order in which they come. Of those that nobody has taken yet only the newest
 * counts.
 */
export class TerminalSizes implements AsyncIterable<TerminalSize> {
  #text = '';
  #newest: TerminalSize | undefined;
  #isOver = false;
  #wake: () => void = () => {};

  /** Called with what a client sends: JSON objects, which may be split. */
  add(bytes: Buffer): void {
    this.#text = (this.#text + bytes.toString()).slice(-maxText);
    for (let end = this.#text.indexOf('}'); end >= 0; end = this.#text.indexOf('}')) {
      const size = sizeOf(this.#text.slice(0, end + 1));
      this.#text = this.#text.slice(end + 1);
      if (size) this.#newest = size;
    }
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TerminalSize, void, undefined> {
    while (!this.#isOver || this.#newest) {
      const size = this.#newest;
      this.#newest = undefined;
      if (size) yield size;
      else
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
    }
  }
}

const sizeOf = (text: string): TerminalSize | undefined => {
  try {
    const {Width: width, Height: height} = JSON.parse(text) as {Width?: unknown; Height?: unknown};
    const isSize = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535;
    return isSize(width) && isSize(height) ? {width, height} : undefined;
  } catch {
    return undefined;
  }
};
