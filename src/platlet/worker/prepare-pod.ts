// Makes the node ready for the containers of a pod: its control group, its volumes and its images.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import {hasRunning} from '#src/platlet/pod/instances.js';
import {PodRejected} from '#src/platlet/pod/admission/rejection.js';
import {podGraceSeconds} from '#src/platlet/pod/kill.js';
import {unmountedMessage} from '#src/platlet/pod/missing-volumes.js';
import {MountTimeout} from '#src/platlet/pod/ports.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {PodKill} from './kill-pod.js';
import {recordEvent, type WorkerParts} from './parts.js';
import type {PodResizer} from './resize-pod.js';

/** Prepares one pod before each of its syncs. */
export class PodPreparation {
  readonly #parts: WorkerParts;
  readonly #resizer: Pick<PodResizer, 'noteGroup'>;

  constructor(parts: WorkerParts, resizer: Pick<PodResizer, 'noteGroup'>) {
    this.#parts = parts;
    this.#resizer = resizer;
  }

  /**
   * Returns the parent of the containers' groups. Containers that run outside of the pod's group are ended, to be
   * started again in it: then the result is undefined. Rejects if something is not ready in time,
   * with `PodRejected` if it turns out that the node cannot have the pod.
   */
  async run(pod: Frozen<Pod>, runtime: RuntimePod, signal: AbortSignal): Promise<string | undefined> {
    const parent = await this.#ensureGroup(pod, runtime, signal);
    if (parent === undefined) return undefined;
    const {volumes, images} = this.#parts.ports;
    await this.#mount(pod, volumes.mount(pod, signal), signal);
    await images.prepare?.(pod);
    return parent;
  }

  async #ensureGroup(pod: Frozen<Pod>, runtime: RuntimePod, signal: AbortSignal): Promise<string | undefined> {
    const {cgroups} = this.#parts.ports;
    const isRunning = hasRunning(runtime);
    const isLost = isRunning && !((await cgroups.exists?.(pod)) ?? true);
    if (isLost) await unlessAborted(new PodKill(this.#parts, pod, runtime, podGraceSeconds(pod)).done, signal);
    const parent = await cgroups.ensure(pod, isRunning && !isLost);
    if (!isRunning || isLost) await this.#resizer.noteGroup(pod);
    return isLost ? undefined : parent;
  }

  async #mount(pod: Frozen<Pod>, mounted: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(mounted, signal);
    } catch (error) {
      if (error instanceof PodRejected) {
        const {reason, message} = error.rejection;
        recordEvent(this.#parts, pod, ['Warning', reason, message]);
        this.#parts.telemetry.metrics.admissionRejections.add({reason});
        throw error;
      }
      if (!signal.aborted && !(error instanceof MountTimeout)) {
        recordEvent(this.#parts, pod, ['Warning', 'FailedMount', unmountedMessage(messageOf(error))]);
      }
      throw error;
    }
  }
}
