import type {ControllerContext} from '#src/runtime/controller.js';

/** The shortest time between passes. */
const passMs = 100;
/** While something waits for a node or for the end of a backoff. */
const slowPassMs = 1_000;

/**
 * Makes passes while there is something to do, and after each change. At rest there are none, nor before it was
 * started.
 */
export class PassLoop {
  readonly #context: Pick<ControllerContext, 'clock' | 'log'>;
  #state: 'new' | 'started' | 'stopped' = 'new';
  #pass: () => Promise<boolean> = async () => false;
  #timer: Disposable | undefined;
  #running: Promise<void> | undefined;
  #isWoken = false;

  constructor(context: Pick<ControllerContext, 'clock' | 'log'>) {
    this.#context = context;
  }

  /** Whether changes may be noted: what was there at the start has been. */
  get isStarted(): boolean {
    return this.#state !== 'new';
  }

  /** Begins with a pass; `pass` returns whether something is unfinished. */
  start(pass: () => Promise<boolean>, signal: AbortSignal): void {
    this.#pass = pass;
    this.#state = signal.aborted ? 'stopped' : 'started';
    signal.addEventListener('abort', () => (this.#state = 'stopped'), {once: true});
    this.wake();
  }

  /** Something has changed: a pass follows soon. */
  wake(): void {
    if (this.#isWoken || this.#state !== 'started') return;
    this.#isWoken = true;
    if (!this.#running) this.#schedule(passMs);
  }

  #schedule(afterMs: number): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#state !== 'started') return;
    this.#timer = this.#context.clock.schedule(afterMs, () => this.#run());
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isWoken = false;
    const {log} = this.#context;
    let isUnfinished = true;
    this.#running = (async () => {
      try {
        isUnfinished = await this.#pass();
      } catch (error) {
        if (this.#state === 'started') log.error({err: error}, 'volumes could not be attached and detached');
      }
    })();
    await this.#running;
    this.#running = undefined;
    if (this.#isWoken) this.#schedule(passMs);
    else if (isUnfinished) this.#schedule(slowPassMs);
  }

  /** Ends the loop; resolves once no pass is running. */
  async stopped(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await this.#running;
  }
}
