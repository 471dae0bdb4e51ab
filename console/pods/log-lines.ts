// The lines of a log, as many as the page keeps: whatever is written, by whomever.

import {visible} from '#page/base/visible.js';

/** The most lines, their characters in all, and those of one line: what is older, or follows, goes. */
const [mostLines, mostCharacters, longestLine] = [5000, 4_000_000, 16_000];

/** So many lines are drawn together, once. */
const blockLines = 100;

/** Lines that follow each other. A block that is full does not change. */
export interface LogBlock {
  readonly id: number;
  readonly lines: readonly string[];
}

/** What programs send to terminals to write in colours, and to move: ECMA-48 §5.4. */
const sequences = new RegExp(String.raw`\x1b\[[0-?]*[ -/]*[@-~]`, 'g');

/** A line, as it is shown: a bar that is drawn again and again is there once. */
const shownLine = (line: string): string => {
  const text = line.replaceAll(sequences, '').replace(/\r+$/, '');
  return visible(text.slice(text.lastIndexOf('\r') + 1));
};

/** The lines of a text that comes in pieces. */
export class LogLines {
  #blocks: LogBlock[] = [];
  #count = 0;
  #characters = 0;
  #nextId = 0;
  /** The line that has not ended, as far as it is kept, and its length. */
  #rest = '';
  #restLength = 0;

  get count(): number {
    return this.#count;
  }

  get blocks(): readonly LogBlock[] {
    return this.#blocks;
  }

  add(piece: string): void {
    const pieces = piece.split('\n');
    const lines: string[] = [];
    for (const [at, part] of pieces.entries()) {
      this.#rest += part.slice(0, Math.max(0, longestLine - this.#rest.length));
      this.#restLength += part.length;
      if (at < pieces.length - 1) lines.push(this.#takeLine());
    }
    this.#keep(lines);
  }

  /** Ends the last line, if there is one that has not ended. */
  end(): void {
    if (this.#restLength > 0) this.#keep([this.#takeLine()]);
  }

  #takeLine(): string {
    const more = this.#restLength - this.#rest.length;
    const line = `${shownLine(this.#rest)}${more > 0 ? ` … and ${more.toLocaleString('en')} more characters` : ''}`;
    [this.#rest, this.#restLength] = ['', 0];
    return line;
  }

  #keep(lines: readonly string[]): void {
    const blocks = [...this.#blocks];
    for (const line of lines.slice(-mostLines)) {
      const last = blocks.at(-1);
      if (last && last.lines.length < blockLines) blocks[blocks.length - 1] = {id: last.id, lines: [...last.lines, line]};
      else blocks.push({id: this.#nextId++, lines: [line]});
      this.#count++;
      this.#characters += line.length;
    }
    while (blocks.length > 1 && (this.#count > mostLines || this.#characters > mostCharacters)) {
      const {lines: gone} = blocks.shift()!;
      this.#count -= gone.length;
      for (const {length} of gone) this.#characters -= length;
    }
    this.#blocks = blocks;
  }
}
