// A full screen of a terminal, in the control sequences that all of them know.

import type {Line, Size} from './screen.js';

/** The part of standard input that keys come from. */
export interface Keyboard {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
  off(event: 'data', listener: (bytes: Buffer) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** The part of standard output that is drawn on. */
export interface Display {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface TerminalParts {
  readonly keyboard: Keyboard;
  readonly display: Display;
  readonly hasColour: boolean;
  /** Called with each key; Ctrl-C is `\x03`. */
  readonly key: (key: string) => void;
  readonly resized: () => void;
}

const enter = '\x1b[?1049h\x1b[?25l';
const leave = '\x1b[?25h\x1b[?1049l';
const styles = {heading: '\x1b[1m', bad: '\x1b[33m', quiet: '\x1b[2m'} as const;

/** The screen, from its construction until it is disposed of, which restores what the terminal showed before. */
export class Terminal implements Disposable {
  readonly #parts: TerminalParts;
  readonly #onData = (bytes: Buffer): void => {
    const text = bytes.toString('latin1');
    if (text.startsWith('\x1b')) return; // A key that sends a sequence, such as an arrow.
    for (const key of text) this.#parts.key(key);
  };
  #isOpen = true;

  constructor(parts: TerminalParts) {
    this.#parts = parts;
    const {keyboard, display, resized} = parts;
    display.write(enter);
    display.on('resize', resized);
    if (!keyboard.isTTY) return;
    keyboard.setRawMode?.(true);
    keyboard.on('data', this.#onData);
    keyboard.resume();
  }

  get size(): Size {
    const {columns, rows} = this.#parts.display;
    return {columns: columns || 80, rows: rows || 24};
  }

  /** Draws over what was there, without clearing it first: the screen does not flicker. */
  draw(lines: readonly Line[]): void {
    if (!this.#isOpen) return;
    const styled = lines.map(({text, tone}) => `${tone && this.#parts.hasColour ? `${styles[tone]}${text}\x1b[0m` : text}\x1b[K`);
    this.#parts.display.write(`\x1b[H${styled.join('\r\n')}\x1b[J`);
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const {keyboard, display, resized} = this.#parts;
    display.off('resize', resized);
    display.write(leave);
    if (!keyboard.isTTY) return;
    keyboard.off('data', this.#onData);
    keyboard.setRawMode?.(false);
    keyboard.pause();
  }
}
