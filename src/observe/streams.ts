import {runEvery, type Clock} from '#src/base/clock.js';

export interface LogStreams {
  readonly clock: Clock;
  /** The maximum number of buffered bytes of lines that are not errors. */
  readonly bufferBytes: number;
  /** The maximum buffering time; zero disables buffering. */
  readonly flushMs: number;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a line is about an error; by default those that begin with `E`. */
  readonly isError?: (line: string) => boolean;
  /** Aborts when the process ends: the buffer is flushed then. */
  readonly signal: AbortSignal;
}

const isErrorText = (line: string): boolean => line.startsWith('E');

/** Splits the log: errors are written to one stream immediately, other lines to another, buffered. */
export const logWriter = ({clock, bufferBytes, flushMs, out, err, isError = isErrorText, signal}: LogStreams): ((line: string) => void) => {
  let waiting: string[] = [];
  let bytes = 0;
  const flush = () => {
    if (waiting.length === 0) return;
    out(waiting.join(''));
    waiting = [];
    bytes = 0;
  };
  const room = flushMs > 0 ? bufferBytes : 0;
  if (room > 0) runEvery(clock, flushMs, signal, flush);
  signal.addEventListener('abort', flush, {once: true});
  return line => {
    if (isError(line)) {
      flush(); // Lines keep their order in time.
      err(line);
      return;
    }
    waiting.push(line);
    bytes += Buffer.byteLength(line);
    if (bytes >= room || signal.aborted) flush();
  };
};
