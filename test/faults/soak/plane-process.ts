import {fork, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {fileURLToPath} from 'node:url';
import {killAtExit} from '#test/fixtures/kill-at-exit.js';
import {Relay} from '#test/faults/rounds/proxy.js';
import type {PlaneAnswer, PlaneMeasurement, PlaneMessage, SoakedPlane} from './plane.js';

/** A plane in a process of its own behind a relay, to be killed, paused, measured and started again on its data. */
export class PlaneProcess implements AsyncDisposable {
  readonly relay: Relay;
  /** The administrator's settings, with the address of the relay. */
  kubeconfig = '';
  readonly #options: SoakedPlane;
  #child: ChildProcess | undefined;

  private constructor(relay: Relay, options: SoakedPlane) {
    this.relay = relay;
    this.#options = options;
  }

  static async start(options: SoakedPlane): Promise<PlaneProcess> {
    const plane = new PlaneProcess(await Relay.open(), options);
    await plane.restart();
    return plane;
  }

  async restart(): Promise<void> {
    const program = fileURLToPath(new URL('plane.js', import.meta.url));
    const child = fork(program, [JSON.stringify(this.#options)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    killAtExit(child);
    this.#child = child;
    const answer = await this.#answer();
    if (!('url' in answer)) throw new Error('the plane is not ready');
    this.relay.target = Number(new URL(answer.url).port);
    this.kubeconfig = answer.kubeconfig.replaceAll(answer.url, this.relay.url);
  }

  async #answer(): Promise<PlaneAnswer> {
    const ended = new AbortController();
    try {
      return await Promise.race([
        once(this.#child!, 'message', ended).then(([message]) => message as PlaneAnswer),
        once(this.#child!, 'exit', ended).then(([code]) => Promise.reject(new Error(`the plane ended by itself with ${code}`))),
      ]);
    } finally {
      ended.abort();
    }
  }

  #send(message: PlaneMessage): void {
    this.#child!.send(message);
  }

  jump(ms: number): void {
    this.#send({jump: ms});
  }

  async measure(): Promise<PlaneMeasurement> {
    const answer = this.#answer();
    this.#send({measure: true});
    const given = await answer;
    if (!('measured' in given)) throw new Error('the plane did not measure');
    return given.measured;
  }

  pause(): void {
    this.#child!.kill('SIGSTOP');
  }

  proceed(): void {
    this.#child!.kill('SIGCONT');
  }

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    const child = this.#child!;
    this.relay.target = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.relay[Symbol.asyncDispose]();
  }
}
