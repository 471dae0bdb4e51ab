// Named health checks of a component and the responses of /healthz, /livez and /readyz. The reason of a failure is
// logged, not returned.

import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';

/** Passes by returning, fails by throwing. The error is logged, but never part of the response for all checks. */
export type Check = () => void | Promise<void>;

export interface HealthQuery {
  readonly verbose?: boolean;
  readonly exclude?: readonly string[];
}
/** The response of a health endpoint. */
export interface HealthAnswer {
  readonly status: 200 | 500;
  readonly body: string;
}

export const healthContentType = 'text/plain; charset=utf-8';

/** Named checks of a component that may come and go while it runs. Run in the order they were added. */
export class HealthChecks {
  readonly #checks = new Map<string, Check>();
  readonly #groups = new Map<string, string>();
  readonly #log: Log;
  /** Called with the result of each check when an endpoint runs all of them. */
  observed: (endpoint: string, check: string, passed: boolean) => void = () => {};

  constructor(log: Log) {
    this.#log = log;
  }

  get names(): readonly string[] {
    return [...this.#checks.keys()];
  }

  /**
   * Adds a check, replacing one of that name, until the returned handle is disposed of. Excluding the check named
   * `group` excludes this one too.
   */
  add(name: string, check: Check, group = name): Disposable {
    this.#checks.set(name, check);
    this.#groups.set(name, group);
    return {
      [Symbol.dispose]: () => {
        if (this.#checks.get(name) !== check) return;
        this.#checks.delete(name);
        this.#groups.delete(name);
      },
    };
  }

  /** Returns the response of `/{endpoint}`. A failing one always lists every check. */
  async all(endpoint: string, {verbose = false, exclude = []}: HealthQuery = {}): Promise<HealthAnswer> {
    const excluded = new Set(exclude);
    const unmatched = [...excluded].filter(name => !this.#checks.has(name));
    const failed: string[] = [];
    // Run concurrently: a slow check must not delay the others.
    const lines = await Promise.all(
      [...this.#checks].map(async ([name, check]) => {
        if (excluded.has(name) || excluded.has(this.#groups.get(name)!)) return `[+]${name} excluded: ok\n`;
        const error = await failureOf(check);
        this.observed(endpoint, name, error === undefined);
        if (error === undefined) return `[+]${name} ok\n`;
        failed.push(name);
        this.#log.v(2).info({check: name, endpoint, err: error}, 'a health check failed');
        return `[-]${name} failed: reason withheld\n`;
      }),
    );
    if (unmatched.length > 0) {
      const quoted = unmatched.sort().map(name => JSON.stringify(name));
      lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted.join(',')}\n`);
    }
    if (failed.length > 0) return {status: 500, body: `${lines.join('')}${endpoint} check failed\n`};
    return {status: 200, body: verbose ? `${lines.join('')}${endpoint} check passed\n` : 'ok'};
  }

  /** Returns the response of `/{endpoint}/{name}`; undefined for an unknown check. */
  async one(name: string): Promise<HealthAnswer | undefined> {
    const check = this.#checks.get(name);
    if (!check) return undefined;
    const error = await failureOf(check);
    if (error === undefined) return {status: 200, body: 'ok'};
    return {status: 500, body: `internal server error: ${messageOf(error)}\n`};
  }
}

const failureOf = async (check: Check): Promise<unknown> => {
  try {
    await check();
    return undefined;
  } catch (error) {
    return error ?? new Error('failed');
  }
};
