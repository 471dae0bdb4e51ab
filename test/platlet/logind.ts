import type {Logind, ShutdownListener} from '#src/platlet/shutdown/logind.js';

/** A logind in memory. */
export class MemoryLogind implements Logind {
  readonly calls: string[] = [];
  delayMs: number;
  /** What the delay becomes when the configuration is read again; by default what was configured. */
  delayAfterReload: number | undefined;
  /** How many locks are held. */
  locks = 0;
  isReachable = true;
  #configuredMs = 0;
  #listener: ShutdownListener | undefined;

  constructor(delayMs: number) {
    this.delayMs = delayMs;
  }

  get isWatched(): boolean {
    return this.#listener !== undefined;
  }

  announce(isShuttingDown: boolean): void {
    this.#listener?.prepares(isShuttingDown);
  }

  /** Loses its clients, as when the bus is started again. */
  restart(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.ended('gone');
  }

  async inhibitDelay(): Promise<number> {
    if (!this.isReachable) throw new Error('no bus');
    return this.delayMs;
  }

  async overrideInhibitDelay(ms: number): Promise<void> {
    this.calls.push(`override ${ms}`);
    this.#configuredMs = ms;
  }

  async reload(): Promise<void> {
    this.calls.push('reload');
    this.delayMs = this.delayAfterReload ?? this.#configuredMs;
  }

  async inhibitShutdown(): Promise<Disposable> {
    this.calls.push('inhibit');
    this.locks++;
    return {[Symbol.dispose]: () => void this.locks--};
  }

  async watch(listener: ShutdownListener): Promise<Disposable> {
    this.#listener = listener;
    return {[Symbol.dispose]: () => void (this.#listener = undefined)};
  }
}
