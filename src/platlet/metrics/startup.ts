import type {Clock} from '#src/base/clock.js';
import type {AgentMetrics} from './agent-metrics.js';

/** Returns the boot time of the machine in ms since the epoch, from /proc/stat. */
export const bootTimeOf = (stat: string): number | undefined => {
  const seconds = /^btime (\d+)$/m.exec(stat)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
};

/** Measures the startup of a node that is new to its cluster. */
export class StartupTimes {
  readonly #clock: Clock;
  readonly #metrics: AgentMetrics;
  readonly #bootAt: number | undefined;
  readonly #startedAt: number;
  #registeringAt: number | undefined;
  #registeredAt: number | undefined;
  #isReady = false;

  constructor(clock: Clock, metrics: AgentMetrics, bootAt: number | undefined) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#bootAt = bootAt;
    this.#startedAt = clock.now();
  }

  reached(stage: 'registering' | 'registered' | 'ready'): void {
    const now = this.#clock.now();
    if (stage === 'registering') this.#registeringAt ??= now;
    else if (stage === 'registered') this.#registeredAt ??= now;
    else if (!this.#isReady) this.#ready(now);
  }

  #ready(now: number): void {
    this.#isReady = true;
    const [registeringAt, registeredAt] = [this.#registeringAt, this.#registeredAt];
    if (registeringAt === undefined || registeredAt === undefined) return;
    const {startup, startupBeforeAgent, startupBeforeRegistration, startupRegistration, startupAfterRegistration} = this.#metrics;
    startupBeforeRegistration.set((registeringAt - this.#startedAt) / 1000);
    startupRegistration.set((registeredAt - registeringAt) / 1000);
    startupAfterRegistration.set((now - registeredAt) / 1000);
    if (this.#bootAt === undefined) return;
    startupBeforeAgent.set((this.#startedAt - this.#bootAt) / 1000);
    startup.set((now - this.#bootAt) / 1000);
  }
}
