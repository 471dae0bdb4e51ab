import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Program} from '#test/cli/programs.js';
import {Relay} from './proxy.js';

/** The token of the administrator. */
export const token = 'faults';

/** How long a start may take. */
const patienceMs = 60_000;
const maxLog = 100_000;

/** An API server in a process of its own behind a relay, to be killed, paused and started again on its data. */
export class ApiServer implements AsyncDisposable {
  readonly relay: Relay;
  readonly #args: readonly string[];
  #program: Program | undefined;
  #earlierLog = '';

  private constructor(relay: Relay, args: readonly string[]) {
    this.relay = relay;
    this.#args = args;
  }

  /** Starts a server with its files in `directory`, and its store too unless the arguments say otherwise. */
  static async start(directory: string, store: string, args: readonly string[]): Promise<ApiServer> {
    const tokens = join(directory, 'tokens');
    writeFileSync(tokens, `${token},admin,1,"system:masters"\n`);
    const server = new ApiServer(await Relay.open(), [
      '--secure-port=0',
      '--bind-address=127.0.0.1',
      `--cert-dir=${join(directory, 'serving')}`,
      `--data-dir=${store}`,
      `--token-auth-file=${tokens}`,
      '--authorization-mode=AlwaysAllow',
      '--anonymous-auth=false',
      '--naming=kubernetes',
      ...args,
    ]);
    await server.restart();
    return server;
  }

  async restart(): Promise<void> {
    const program = (this.#program = new Program('plat-apiserver', this.#args));
    const timer = setTimeout(() => program.child.kill('SIGKILL'), patienceMs);
    try {
      const [, port] = await program.waitFor(/ready: serving on https:\S+:(\d+)/);
      this.relay.target = Number(port);
    } finally {
      clearTimeout(timer);
    }
  }

  get pid(): number | undefined {
    return this.#program?.child.pid;
  }

  /** How the process ended, if it did so by itself. */
  get ending(): string | undefined {
    const {exitCode, signalCode} = this.#program?.child ?? {};
    return signalCode ?? (typeof exitCode === 'number' ? `code ${exitCode}` : undefined);
  }

  /** What the processes wrote to their logs, without the beginning. */
  get log(): string {
    return (this.#earlierLog + (this.#program?.stderr ?? '')).slice(-maxLog);
  }

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    this.relay.target = undefined;
    if (!program) return;
    const {stderr} = await program.stop('SIGKILL');
    this.#earlierLog = (this.#earlierLog + stderr).slice(-maxLog);
  }

  pause(): void {
    this.#program?.child.kill('SIGSTOP');
  }

  proceed(): void {
    this.#program?.child.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.relay[Symbol.asyncDispose]();
  }
}
