// Runs the steps of one pod, one at a time.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {inNewSpan} from '#src/base/span.js';
import type {WorkerParts} from './parts.js';

/** Why a step is run. */
export type StepCause = 'create' | 'update' | 'sync' | 'kill';

export interface StepLoopParts extends Pick<WorkerParts, 'clock' | 'signal' | 'telemetry'> {
  /** Returns the pod that the next step is about, and the name of the step's span. */
  next(): {readonly pod: Frozen<Pod>; readonly span: string; readonly cause: StepCause};
  /** Runs a step. Returns the delay of the next one in ms. */
  step(): Promise<number>;
  /** Whether there are no more steps. */
  isOver(): boolean;
}

/** A step that changed something is followed by the next one at once, but after this many steps in a row by a pause. */
const maxSteps = 10;
const pauseMs = 1_000;

/** The steps of one pod. Each runs in a span of its own. */
export class StepLoop {
  readonly #parts: StepLoopParts;
  #isBusy = false;
  #isDirty = false;
  #timer: Disposable | undefined;

  constructor(parts: StepLoopParts) {
    this.#parts = parts;
  }

  /** Has another step run once the current one is over. */
  again(): void {
    this.#isDirty = true;
  }

  /** Runs a step, as soon as the current one is over. */
  wake(): void {
    this.#isDirty = true;
    if (!this.#isBusy) this.#work().catch((error: unknown) => this.#parts.clock.unhandled(error));
  }

  /** Runs no further step by itself. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  async #work(): Promise<void> {
    const {clock, signal, isOver} = this.#parts;
    this.#isBusy = true;
    this.#timer?.[Symbol.dispose]();
    let nextMs = Infinity;
    try {
      for (let steps = 0; this.#isDirty && !isOver() && !signal.aborted; steps++) {
        this.#isDirty = false;
        nextMs = await this.#step();
        if (steps < maxSteps) continue;
        if (this.#isDirty) nextMs = Math.min(nextMs, pauseMs);
        this.#isDirty = false;
      }
    } finally {
      this.#isBusy = false;
    }
    if (nextMs < Infinity && !isOver() && !signal.aborted) this.#timer = clock.schedule(nextMs, () => this.wake());
  }

  async #step(): Promise<number> {
    const {clock, telemetry, next, step} = this.#parts;
    const {pod, span: name, cause} = next();
    const since = clock.monotonic();
    const span = telemetry.tracer?.root({
      name,
      isInternal: true,
      attributes: attributesOf(pod, cause),
      startedAt: since,
      traceparent: undefined,
      trustsParent: false,
    });
    const delay = await (span ? inNewSpan(span, step) : step());
    telemetry.metrics.workerDuration.observe((clock.monotonic() - since) / 1000, {operation_type: cause});
    return delay;
  }
}

const attributesOf = ({metadata}: Frozen<Pod>, cause: StepCause): Record<string, string> => {
  const {uid = '', namespace = '', name = ''} = metadata ?? {};
  return {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.pod.update_type': cause,
    'k8s.namespace.name': namespace,
  };
};
