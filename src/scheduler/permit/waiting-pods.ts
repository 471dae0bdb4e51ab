import {formatDuration} from '#src/api/duration.js';
import type {Clock} from '#src/base/clock.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';

/** Why a pod that waited does not get its node. */
export interface PermitRejection {
  readonly plugin: PluginName | '';
  readonly message: string;
}

/** How a wait ended: the pod may be bound, must not, or nobody decides any more. */
export type PermitResult = 'allowed' | 'stopped' | PermitRejection;

interface WaitingPod {
  readonly timer: Disposable;
  readonly end: (result: PermitResult) => void;
}

/** The pods that have a node reserved and wait until a plugin permits that they are bound, by UID. */
export class WaitingPods {
  readonly #clock: Clock;
  readonly #pods = new Map<string, WaitingPod>();

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    signal.addEventListener('abort', () => this.#stop(), {once: true});
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** Resolves when the pod is allowed or rejected, which happens after `maxMs` at the latest. */
  wait(uid: string, plugin: PluginName, maxMs: number): Promise<PermitResult> {
    return new Promise(resolve => {
      const message = `rejected due to timeout after waiting ${formatDuration(maxMs)} at plugin ${plugin}`;
      const timer = this.#clock.schedule(maxMs, () => this.#end(uid, {plugin, message}));
      this.#pods.set(uid, {timer, end: resolve});
    });
  }

  /** Allows a pod that waits to be bound. */
  allow(uid: string): void {
    this.#end(uid, 'allowed');
  }

  /** Rejects a pod. Returns whether it waited. */
  reject(uid: string, rejection: PermitRejection): boolean {
    return this.#end(uid, rejection);
  }

  #end(uid: string, result: PermitResult): boolean {
    const pod = this.#pods.get(uid);
    if (!pod) return false;
    this.#pods.delete(uid);
    pod.timer[Symbol.dispose]();
    pod.end(result);
    return true;
  }

  #stop(): void {
    for (const uid of this.#pods.keys()) this.#end(uid, 'stopped');
  }
}
