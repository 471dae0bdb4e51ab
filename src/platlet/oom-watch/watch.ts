import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {Host, KernelLog} from '#src/platlet/host/host.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {OomMessages} from './messages.js';

export interface OomWatchParts {
  readonly host: Pick<Host, 'openKernelLog'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** The Node that events are about. */
  readonly node: Regarding;
  readonly signal: AbortSignal;
}

const lookMs = 1_000;
/** The most messages that are read at once. */
const mostMessages = 10_000;

/**
 * Records an event for each process that the kernel kills because the machine is out of memory, until the signal
 * aborts. Rejects if the kernel's messages cannot be read.
 */
export const watchOom = async (parts: OomWatchParts): Promise<void> => {
  const {host, clock, log, signal} = parts;
  const kernel = await host.openKernelLog();
  onAbort(signal, () => void kernel[Symbol.asyncDispose]());
  const messages = new OomMessages();
  runEvery(clock, lookMs, signal, () =>
    readAll(kernel, messages, parts).catch((error: unknown) => {
      if (!signal.aborted) log.error({err: error}, 'the messages of the kernel cannot be read');
    }),
  );
};

const readAll = async (kernel: KernelLog, messages: OomMessages, {events, node, signal}: OomWatchParts): Promise<void> => {
  for (let count = 0; count < mostMessages && !signal.aborted; count++) {
    const record = await kernel.next();
    if (record === undefined) return;
    const victim = messages.read(record);
    // What is out of its own limit is a matter of its pod.
    if (victim?.isSystem)
      events.warning(node, 'SystemOOM', `System OOM encountered, victim process: ${victim.process}, pid: ${victim.pid}`);
  }
};
