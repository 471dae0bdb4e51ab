import type {Clock} from '#src/base/clock.js';
import type {UnhandledErrors} from '#src/observe/unhandled.js';

/** The used part of `process`. */
type Process = Pick<NodeJS.Process, 'on' | 'stdout' | 'stderr'>;

export interface UncaughtParts {
  readonly process: Process;
  readonly clock: Clock;
  readonly unhandled: UnhandledErrors;
  /** Stops the program gracefully. */
  stop(): void;
  /** Ends the process with an error. */
  end(error: unknown): void;
}

/** The time limit of a graceful stop. */
const stopTimeoutMs = 30_000;

/**
 * Handles errors that nothing else handles. An unhandled rejection is reported, and the program continues: only the
 * failed work is affected. After an uncaught exception the state of the process is unknown: the program is stopped
 * gracefully, and ended if that takes too long. Returns the exception, once there was one.
 */
export const handleUncaught = ({process, clock, unhandled, stop, end}: UncaughtParts): (() => {readonly error: unknown} | undefined) => {
  let fatal: {readonly error: unknown} | undefined;
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // The reader of the output is gone.
  process.on('unhandledRejection', unhandled.handle);
  process.on('uncaughtException', (error: unknown) => {
    unhandled.handle(error);
    if (fatal) return;
    fatal = {error};
    clock.schedule(stopTimeoutMs, () => end(error));
    stop();
  });
  return () => fatal;
};
