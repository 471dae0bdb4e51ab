// Asks drivers periodically how many volumes the node can have, if their CSIDriver objects say how often.

import type {Frozen} from '#src/api/key.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {CsiDrivers} from './drivers.js';
import type {CsiDriver} from './volume.js';

export interface AllocatableUpdatesParts {
  readonly drivers: Pick<CsiDrivers, 'isRegistered' | 'refresh'>;
  /** Returns the object of a driver. */
  object(driver: string): Frozen<CsiDriver> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

interface Period {
  readonly ms: number;
  timer: Disposable;
}

/** The periodic updates of a node's drivers. */
export class AllocatableUpdates {
  readonly #parts: AllocatableUpdatesParts;
  readonly #periods = new Map<string, Period>();

  constructor(parts: AllocatableUpdatesParts) {
    this.#parts = parts;
    onAbort(parts.signal, () => {
      for (const {timer} of this.#periods.values()) timer[Symbol.dispose]();
      this.#periods.clear();
    });
  }

  /** Called when a driver or its object has changed. */
  changed(driver: string): void {
    const {drivers, object, signal} = this.#parts;
    const seconds = drivers.isRegistered(driver) ? (object(driver)?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) : 0;
    const known = this.#periods.get(driver);
    if (known?.ms === seconds * 1000) return;
    known?.timer[Symbol.dispose]();
    this.#periods.delete(driver);
    if (seconds > 0 && !signal.aborted) this.#periods.set(driver, {ms: seconds * 1000, timer: this.#next(driver, seconds * 1000)});
  }

  #next(driver: string, ms: number): Disposable {
    const {clock, drivers, log} = this.#parts;
    return clock.schedule(ms, async () => {
      await drivers.refresh(driver).catch((error: unknown) => log.error({driver, err: error}, 'failed to update a CSI driver'));
      const period = this.#periods.get(driver);
      if (period) period.timer = this.#next(driver, ms);
    });
  }
}
