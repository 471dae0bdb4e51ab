// The health of the container runtime and of the pod network.

import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Runtime, RuntimeStatus} from '#src/platlet/runtime/runtime.js';

export interface RuntimeHealthParts {
  readonly runtime: Pick<Runtime, 'status'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const checkMs = 5_000;
/** The runtime counts as down after this time without a successful check. */
const downAfterMs = 30_000;

/** Polls the status of the runtime. */
export class RuntimeHealth {
  readonly #parts: RuntimeHealthParts;
  #status: RuntimeStatus | undefined;
  #succeededAt: number | undefined;

  constructor(parts: RuntimeHealthParts) {
    this.#parts = parts;
  }

  /** Checks at once, and periodically until the signal aborts. Resolves after the first check. */
  async start(): Promise<void> {
    const {clock, signal} = this.#parts;
    await this.check();
    runEvery(clock, checkMs, signal, () => this.check());
  }

  async check(): Promise<void> {
    const {runtime, clock, log} = this.#parts;
    const hold = clock.hold();
    try {
      const status = await runtime.status();
      const problem = conditionProblem(status, 'RuntimeReady');
      this.#status = status;
      if (problem === undefined) this.#succeededAt = clock.monotonic();
      else log.error({problem}, 'the container runtime is not ready');
    } catch (error) {
      log.error({err: error}, 'the container runtime does not respond');
    } finally {
      hold[Symbol.dispose]();
    }
  }

  /** The last status of the runtime; undefined before the first one. */
  get status(): RuntimeStatus | undefined {
    return this.#status;
  }

  /** The reasons why the runtime is not ready; empty if it is. */
  get runtimeProblems(): readonly string[] {
    if (this.#succeededAt === undefined && !this.#status) return ['container runtime status check may not have completed yet'];
    const problem = this.#status && conditionProblem(this.#status, 'RuntimeReady');
    const isDown = this.#succeededAt === undefined || this.#parts.clock.monotonic() > this.#succeededAt + downAfterMs;
    return [...(isDown && problem === undefined ? ['container runtime is down'] : []), ...(problem === undefined ? [] : [problem])];
  }

  /** Why the pod network is not ready; undefined if it is. */
  get networkProblem(): string | undefined {
    return this.#status && conditionProblem(this.#status, 'NetworkReady');
  }
}

const subjects = {RuntimeReady: 'container runtime', NetworkReady: 'container runtime network'} as const;

/** Returns why a condition of the runtime is not true; undefined if it is. */
export const conditionProblem = ({conditions}: RuntimeStatus, type: keyof typeof subjects): string | undefined => {
  const condition = conditions.find(one => one.type === type);
  if (condition?.status) return undefined;
  if (!condition) return `${subjects[type]} not ready: ${type} condition is not set`;
  return `${subjects[type]} not ready: ${type}=false reason:${condition.reason} message:${condition.message}`;
};

/** Returns the message of a node that is not ready; undefined if there are no problems. */
export const joinedProblems = (problems: readonly string[]): string | undefined =>
  problems.length === 0 ? undefined : problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
