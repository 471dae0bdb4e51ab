import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {KernelLog} from '#src/platlet/host/host.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {OomMessages} from './messages.js';

export interface OomWatchParts {
  readonly kernelLog: KernelLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** The reference to the Node in events. */
  readonly node: Regarding;
  readonly signal: AbortSignal;
}

const lookMs = 1_000;
/** The maximum number of messages read in one batch. */
const mostMessages = 10_000;

/**
 * Records an event for each process that the kernel kills because the system is out of memory, until the signal aborts.
 */
export const watchOom = (parts: OomWatchParts): void => {
  const {clock, log, signal} = parts;
  const messages = new OomMessages();
  runEvery(clock, lookMs, signal, () =>
    readAll(messages, parts).catch((error: unknown) => {
      if (!signal.aborted) log.error({err: error}, 'failed to read the kernel log');
    }),
  );
};

const readAll = async (messages: OomMessages, {kernelLog, events, node, signal}: OomWatchParts): Promise<void> => {
  for (let count = 0; count < mostMessages && !signal.aborted; count++) {
    const record = await kernelLog.next();
    if (record === undefined) return;
    const victim = messages.read(record);
    // A process killed by the limit of its cgroup is reported in the status of its pod.
    if (victim?.isSystem)
      events.warning(node, 'SystemOOM', `System OOM encountered, victim process: ${victim.process}, pid: ${victim.pid}`);
  }
};
