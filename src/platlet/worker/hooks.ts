// The lifecycle hooks of containers: postStart and preStop.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, LifecycleHandler, Pod} from '#src/api/pod.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {HttpGet} from '#src/platlet/prober/http.js';
import {httpTarget} from '#src/platlet/prober/target.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import {userAgent} from '#src/platlet/prober/user-agent.js';

export interface HookParts {
  readonly naming: Naming;
  readonly runtime: Pick<Runtime, 'execSync'>;
  readonly clock: Clock;
  readonly get: HttpGet;
  /** Records that an HTTPS hook was called over HTTP, because the server does not speak TLS. */
  readonly fellBack: (pod: Frozen<Pod>, container: Frozen<AnyContainer>, message: string) => void;
}

/** The container of a hook. */
export interface HookTarget {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  readonly id: string;
  readonly addresses: readonly string[];
}

/** The timeout of an HTTP hook. */
const httpMs = 120_000;

/** Runs hooks. */
export class Hooks {
  readonly #parts: HookParts;

  constructor(parts: HookParts) {
    this.#parts = parts;
  }

  /** Runs a hook. Rejects with the message of the failure. */
  async run(handler: Frozen<LifecycleHandler>, target: HookTarget, signal: AbortSignal): Promise<void> {
    if (handler.exec) return this.#exec(handler.exec.command ?? [], target);
    if (handler.httpGet) return this.#http(handler.httpGet, target, signal);
    if (handler.sleep) return sleep(this.#parts.clock, handler.sleep.seconds * 1000, signal).catch(() => {});
    throw new Error('invalid handler: {}');
  }

  async #exec(command: readonly string[], {id}: HookTarget): Promise<void> {
    const {exitCode, stdout, stderr} = await this.#parts.runtime.execSync(id, command, 0);
    if (exitCode === 0) return;
    const output = Buffer.concat([stdout, stderr]).toString();
    throw new Error(
      `Exec lifecycle hook (${JSON.stringify(command)}) failed: command '${command.join(' ')}' exited with ${exitCode}: ${output}`,
    );
  }

  async #http(action: NonNullable<Frozen<LifecycleHandler>['httpGet']>, target: HookTarget, signal: AbortSignal): Promise<void> {
    const {naming, get, fellBack} = this.#parts;
    const {pod, container, addresses} = target;
    const request = {
      ...httpTarget(action, container, addresses[0] ?? ''),
      agent: userAgent(naming, 'lifecycle'),
      timeoutMs: httpMs,
      signal,
    };
    let error = await get(request).then(
      ({status}) => (status >= 400 ? new Error(`HTTP lifecycle hook failed with statuscode: ${status}`) : undefined),
      (failure: unknown) => failure,
    );
    if (
      error &&
      request.url.protocol === 'https:' &&
      /http request to an HTTPS|wrong version number|packet length|EPROTO/i.test(messageOf(error))
    ) {
      const url = new URL(request.url);
      url.protocol = 'http:';
      error = await get({...request, url, headers: request.headers.filter(([name]) => name.toLowerCase() !== 'authorization')}).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (!error) fellBack(pod, container, `request to HTTPS lifecycle hook got HTTP response, retry with HTTP succeeded`);
    }
    if (error) throw error instanceof Error ? error : new Error(messageOf(error));
  }
}
