import {type ChildProcess, fork} from 'node:child_process';
import {fileURLToPath} from 'node:url';

/** A process of the benchmarks that sends one reply to each message. */
export class Child {
  readonly #child: ChildProcess;

  /** `file` is beside this one; its only argument is `argument` as JSON. */
  constructor(file: string, argument: unknown) {
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(argument)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`a process of the bench ended with ${code}`));
      this.#child.once('exit', ended).once('message', answer => {
        this.#child.off('exit', ended);
        resolve(answer as T);
      });
    });
  }

  ask<T>(message: string): Promise<T> {
    const answer = this.answer<T>();
    this.#child.send(message);
    return answer;
  }

  async stop(): Promise<void> {
    const ended = new Promise(resolve => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
  }
}
