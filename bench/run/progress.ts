/** What progress needs of a stream: process.stderr. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Shows what is being measured and for how long: one line that is rewritten on a terminal, a line for each step
 * elsewhere.
 */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #total: number;
  #number = 0;
  #subject = '';
  #step = '';
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: ProgressStream, total: number) {
    this.#stream = stream;
    this.#total = total;
  }

  begin(subject: string): void {
    this.#number++;
    this.#subject = subject;
    this.#startedAt = performance.now();
    this.step('');
    if (this.#stream.isTTY) this.#timer = setInterval(() => this.#show(), 1000);
  }

  step(text: string): void {
    this.#step = text;
    this.#show();
  }

  /** Removes the line, so that something else can be printed. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\u001B[K');
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #show(): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const text = `[${this.#number}/${this.#total}] ${this.#subject}${this.#step && `: ${this.#step}`}, ${seconds} s`;
    this.#stream.write(this.#stream.isTTY ? `\r\u001B[K${text}` : `${text}\n`);
  }
}
