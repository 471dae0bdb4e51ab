import {type ChildProcess, execFile, fork} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

/** Returns the path of a program of the benchmarks in this folder. */
export const loadProgram = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Runs a program of this folder, whose only argument is `argument` as JSON, and returns what it prints as JSON. */
export const resultOf = async <T>(file: string, argument: unknown): Promise<T> => {
  const {stdout} = await promisify(execFile)(process.execPath, [loadProgram(file), JSON.stringify(argument)]);
  return JSON.parse(stdout) as T;
};

/** A process of the benchmarks that sends one reply to each message. */
export class Child {
  readonly #child: ChildProcess;

  /** `file` is beside this one; its only argument is `argument` as JSON. */
  constructor(file: string, argument: unknown) {
    this.#child = fork(loadProgram(file), [JSON.stringify(argument)], {
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
