// Kills all containers of a pod in order.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {exceededGrace, killLimitMs, stopsAfter} from '#src/platlet/pod/kill.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {recordEvent, type WorkerParts} from './parts.js';
import {ContainerStop} from './stop-container.js';

/**
 * A pod kill in progress: all containers in parallel, except that sidecars wait for the containers that may need them;
 * then the sandboxes.
 */
export class PodKill {
  readonly #parts: WorkerParts;
  readonly #pod: Frozen<Pod>;
  readonly #runtime: RuntimePod;
  readonly #stops = new Map<string, ContainerStop>();
  readonly #limit: Disposable;
  readonly done: Promise<void>;

  constructor(parts: WorkerParts, pod: Frozen<Pod>, runtime: RuntimePod, graceSeconds: number) {
    this.#parts = parts;
    this.#pod = pod;
    this.#runtime = runtime;
    this.#limit = parts.clock.schedule(killLimitMs(graceSeconds), () =>
      recordEvent(parts, pod, ['Warning', exceededGrace.reason, exceededGrace.message]),
    );
    this.#stopAll(graceSeconds);
    this.done = this.#finish();
    this.done.catch(() => {});
  }

  shorten(graceSeconds: number): void {
    for (const stop of this.#stops.values()) stop.shorten(graceSeconds);
  }

  #stopAll(graceSeconds: number): void {
    const {containers, sandboxes} = this.#runtime;
    const spec = this.#pod.spec!;
    const known = new Map([...specContainers(spec)].map(({container}) => [container.name, container]));
    // The containers that a sidecar waits for come first.
    const waits = (name: string): number => stopsAfter(spec, name).length;
    const running = containers
      .filter(({state}) => state === 'running' || state === 'unknown')
      .sort((a, b) => waits(a.name) - waits(b.name));
    const addresses = sandboxes.find(({isReady}) => isReady)?.addresses ?? [];
    for (const instance of running) {
      const before = stopsAfter(spec, instance.name).flatMap(name => this.#stops.get(name)?.done ?? []);
      this.#stops.set(
        instance.name,
        new ContainerStop(this.#parts, {
          pod: this.#pod,
          instance,
          container: known.get(instance.name),
          message: `Stopping container ${instance.name}`,
          graceSeconds,
          addresses,
          ...(before.length > 0 ? {after: Promise.allSettled(before)} : {}),
        }),
      );
    }
  }

  async #finish(): Promise<void> {
    try {
      const results = await Promise.allSettled([...this.#stops.values()].map(({done}) => done));
      const failed = results.find(result => result.status === 'rejected');
      if (failed) throw failed.reason;
      for (const {id, isReady, addresses} of this.#runtime.sandboxes)
        if (isReady || addresses.length > 0) await this.#parts.ports.runtime.stopSandbox(id);
    } finally {
      this.#limit[Symbol.dispose]();
    }
  }
}
