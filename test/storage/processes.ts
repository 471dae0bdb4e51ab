import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {fileURLToPath} from 'node:url';
import {killAtExit} from '#test/fixtures/kill-at-exit.js';

/** A process of its own that has the store in `directory` open; child.ts has its tasks. */
export class StoreProcess {
  readonly lines: string[] = [];
  /** What it wrote to standard error: the native library does. */
  errors = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #rest = '';
  #wake: () => void = () => {};

  constructor(task: 'write' | 'hold' | 'open' | 'persist', directory: string, naming = 'plat', command: readonly string[] = []) {
    const program = fileURLToPath(new URL('child.js', import.meta.url));
    const [first = process.execPath, ...rest] = [...command, process.execPath];
    this.#child = killAtExit(spawn(first, [...rest, program, task, directory, naming], {stdio: ['ignore', 'pipe', 'pipe']}));
    this.#ended = once(this.#child, 'close');
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
      if (task !== 'persist') process.stderr.write(text);
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop()!;
      this.lines.push(...lines);
      this.#wake();
    });
  }

  /** Resolves once it has printed so many lines. */
  async output(count: number): Promise<void> {
    while (this.lines.length < count) await new Promise<void>(resolve => (this.#wake = resolve));
  }

  /** Resolves once it ended by itself or was killed, and all its output was read. */
  async end(): Promise<void> {
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
