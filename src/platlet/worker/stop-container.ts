// The stop of one container: preStop hook, stop signal, and the rest of the grace period.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container, Pod} from '#src/api/pod.js';
import {sleep} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {stopSeconds} from '#src/platlet/pod/kill.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {recordEvent, type WorkerParts} from './parts.js';

/** A container to stop. */
export interface StopRequest {
  readonly pod: Frozen<Pod>;
  readonly instance: ContainerInstance;
  /** Undefined for a container that is not in the pod spec. */
  readonly container: Frozen<AnyContainer> | undefined;
  readonly message: string;
  readonly graceSeconds: number;
  readonly addresses: readonly string[];
  /** Resolves when the container may be stopped: those that depend on it have exited. */
  readonly after?: Promise<unknown>;
}

/** A container stop in progress. Its grace period can be shortened. */
export class ContainerStop {
  readonly #parts: WorkerParts;
  readonly #request: StopRequest;
  readonly #startedAt: number;
  readonly #hook = new AbortController();
  #graceSeconds: number;
  #isSignalled = false;
  readonly done: Promise<void>;

  constructor(parts: WorkerParts, request: StopRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#graceSeconds = request.graceSeconds;
    this.#startedAt = parts.clock.monotonic();
    this.done = this.#run();
    // Callers that await the result get the error.
    this.done.catch(() => {});
  }

  /** Shortens the grace period. */
  shorten(graceSeconds: number): void {
    if (graceSeconds >= this.#graceSeconds) return;
    this.#graceSeconds = graceSeconds;
    const spent = this.#spentMs();
    if (spent >= graceSeconds * 1000) this.#hook.abort();
    if (this.#isSignalled) {
      const {runtime} = this.#parts.ports;
      const {log} = this.#parts.telemetry;
      const {id} = this.#request.instance;
      runtime.stopContainer(id, graceSeconds).catch((error: unknown) => log.warn({id, err: error}, 'failed to stop a container'));
    }
  }

  #spentMs(): number {
    return this.#parts.clock.monotonic() - this.#startedAt;
  }

  async #run(): Promise<void> {
    const {pod, instance, container, message, after} = this.#request;
    const path = container && fieldPathOf(pod, container.name);
    recordEvent(this.#parts, pod, ['Normal', 'Killing', message], path);
    if (instance.state === 'running') await this.#preStop(container, path);
    if (after) await this.#within(after);
    this.#isSignalled = true;
    await this.#parts.ports.runtime.stopContainer(instance.id, stopSeconds(this.#graceSeconds, this.#spentMs()));
  }

  async #preStop(container: Frozen<AnyContainer> | undefined, path: string | undefined): Promise<void> {
    const {pod, instance, addresses} = this.#request;
    const handler = (container as Frozen<Container> | undefined)?.lifecycle?.preStop;
    if (!container || !handler) return;
    const {hooks} = this.#parts.handlers;
    const {log} = this.#parts.telemetry;
    const run = hooks.run(handler, {pod, container, id: instance.id, addresses}, this.#hook.signal).catch((error: unknown) => {
      if (this.#hook.signal.aborted) return;
      log.warn({container: container.name, err: error, text: messageOf(error)}, 'the preStop hook failed');
      recordEvent(this.#parts, pod, ['Warning', 'FailedPreStopHook', 'PreStopHook failed'], path);
    });
    await this.#within(run);
  }

  /** Waits, but not longer than the grace period. */
  async #within(what: Promise<unknown>): Promise<void> {
    const {clock} = this.#parts;
    const timeout = new AbortController();
    const late = async () => {
      for (;;) {
        const leftMs = this.#graceSeconds * 1000 - this.#spentMs();
        if (leftMs <= 0) return;
        await sleep(clock, Math.min(leftMs, 1_000), timeout.signal);
      }
    };
    try {
      await Promise.race([what, late()]);
    } finally {
      timeout.abort();
    }
  }
}

/** Returns the field path of a container in events. */
export const fieldPathOf = (pod: Frozen<Pod>, name: string): string | undefined => {
  for (const {container, path} of specContainers(pod.spec!)) if (container.name === name) return path;
  return undefined;
};
