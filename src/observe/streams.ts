import {every, type Clock} from '#src/base/clock.js';

export interface LogStreams {
  readonly clock: Clock;
  /** How many bytes of lines that are no errors may wait. */
  readonly bufferBytes: number;
  /** Nothing waits longer than this; zero lets nothing wait. */
  readonly flushMs: number;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Aborts when the process ends: what waits is written then. */
  readonly signal: AbortSignal;
}

/** Splits the log: errors, whose lines begin with `E`, go to one stream at once, everything else to another, held back as long as allowed. */
export const logWriter = ({clock, bufferBytes, flushMs, out, err, signal}: LogStreams): ((line: string) => void) => {
  let waiting: string[] = [];
  let bytes = 0;
  const flush = () => {
    if (waiting.length === 0) return;
    out(waiting.join(''));
    waiting = [];
    bytes = 0;
  };
  const room = flushMs > 0 ? bufferBytes : 0;
  if (room > 0) every(clock, flushMs, signal, flush);
  signal.addEventListener('abort', flush, {once: true});
  return line => {
    if (line.startsWith('E')) {
      flush(); // Lines keep their order in time.
      err(line);
      return;
    }
    waiting.push(line);
    bytes += Buffer.byteLength(line);
    if (bytes >= room || signal.aborted) flush();
  };
};
