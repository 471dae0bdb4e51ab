// Has the kernel report when memory thresholds are crossed, so that the node is not looked at too late.

import {join} from 'node:path';
import type {NodeStats} from '#src/api/node/stats.js';
import {quantityOf, quantityValue} from '#src/api/quantity.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {onAbort} from '#src/base/signals.js';
import {amountOf, type Threshold} from '#src/platlet/eviction/thresholds.js';
import type {Host, MemoryThreshold, MemoryWatch} from '#src/platlet/host/host.js';

/** The folders of the memory controller of version 1. */
export interface MemoryFolders {
  /** Of all processes. */
  readonly machine: string;
  /** Of all pods. */
  readonly pods: string;
}

export interface MemoryNotifierParts {
  readonly host: Pick<Host, 'read' | 'openMemoryWatch'>;
  readonly folders: MemoryFolders;
  readonly thresholds: readonly Threshold[];
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** How often thresholds are adapted to caches, which count as usage. */
const refreshMs = 10_000;

/** Returns the usage at which the working set reaches what a threshold leaves. Inactive caches are no part of it. */
export const usageThreshold = (
  threshold: Threshold,
  {usage, workingSet, available}: {readonly usage: number; readonly workingSet: number; readonly available: number},
): number => {
  const capacity = available + workingSet;
  return capacity - Number(quantityValue(amountOf(threshold.value, quantityOf(capacity, 'BinarySI')))) + usage - workingSet;
};

/** Notifies about memory thresholds. Without notifications the node is only looked at periodically. */
export class MemoryNotifier {
  readonly #parts: MemoryNotifierParts;
  #watch: MemoryWatch | undefined;
  #refreshedAt = -Infinity;

  constructor(parts: MemoryNotifierParts) {
    this.#parts = parts;
  }

  /**
   * Calls `crossed` when a threshold is crossed, until the signal aborts. Rejects if notifications are not available.
   */
  async start(crossed: () => void): Promise<void> {
    const {host, log, signal} = this.#parts;
    const notified = (): void => {
      log.info('eviction manager: memory eviction threshold crossed');
      crossed();
    };
    const failed = (message: string): void =>
      log.error({err: new Error(message)}, 'Eviction manager: error while waiting for memcg events');
    const watch = await host.openMemoryWatch(notified, failed);
    this.#watch = watch;
    onAbort(signal, () => watch[Symbol.dispose]());
  }

  /** Adapts the thresholds to new statistics. */
  async refresh(stats: NodeStats): Promise<void> {
    const {thresholds, clock, log} = this.#parts;
    if (!this.#watch || clock.monotonic() - this.#refreshedAt <= refreshMs) return;
    this.#refreshedAt = clock.monotonic();
    try {
      const found = await Promise.all(thresholds.map(threshold => this.#thresholdOf(threshold, stats)));
      this.#watch.set(found.flatMap(each => each ?? []));
    } catch (error) {
      log.info({err: messageOf(error)}, 'Eviction manager: failed to update notifier');
    }
  }

  async #thresholdOf(threshold: Threshold, {machine, memoryBytes, system}: NodeStats): Promise<MemoryThreshold | undefined> {
    const {host, folders} = this.#parts;
    const isOfPods = threshold.signal === 'allocatableMemory.available';
    if (!isOfPods && threshold.signal !== 'memory.available') return undefined;
    const folder = isOfPods ? folders.pods : folders.machine;
    const usage = Number(String(await host.read(join(folder, 'memory.usage_in_bytes'))));
    const pods = system?.find(({name}) => name === 'pods');
    const workingSet = isOfPods ? pods?.memoryBytes : memoryBytes;
    const available = isOfPods ? pods?.memory?.availableBytes : machine.memoryBytes - memoryBytes;
    if (workingSet === undefined || available === undefined || Number.isNaN(usage)) throw new Error(`no statistics of ${folder}`);
    return {folder, bytes: Math.max(0, usageThreshold(threshold, {usage, workingSet, available}))};
  }
}
