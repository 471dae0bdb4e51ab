import type {Clock} from '#src/base/clock.js';
import type {UnhandledErrors} from '#src/observe/unhandled.js';

/** The part of `process` that is listened to. */
type Process = Pick<NodeJS.Process, 'on' | 'stdout' | 'stderr'>;

export interface UncaughtParts {
  readonly process: Process;
  readonly clock: Clock;
  readonly unhandled: UnhandledErrors;
  /** Asks the program to stop. */
  stop(): void;
  /** Ends the process, telling why. */
  end(error: unknown): void;
}

/** How long a program has to stop in order. */
const stopTimeoutMs = 30_000;

/**
 * The last line behind all guards. A rejection that nobody handles is reported, and the program goes on: nothing but the work that failed is affected. After an exception that nobody
 * caught the state of the process is unknown: the program is asked to stop, which closes what it holds, and ended when that takes too long. Returns the exception, once there was one.
 */
export const handleUncaught = ({process, clock, unhandled, stop, end}: UncaughtParts): (() => {readonly error: unknown} | undefined) => {
  let fatal: {readonly error: unknown} | undefined;
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // Nobody reads any more.
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
