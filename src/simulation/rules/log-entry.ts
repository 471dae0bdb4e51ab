import type {Output} from '#src/simulation/command/outcome.js';

/** One or several log lines of a container, written once or periodically. */
export interface LogEntry {
  /** With references such as `$(COUNT)`. */
  readonly text: string;
  readonly stream: 'stdout' | 'stderr';
  /** In ms after the container's start. */
  readonly afterMs: number;
  /** The period in ms; absent: written once. */
  readonly everyMs?: number;
  /** The maximum number of repetitions. */
  readonly times?: number;
}

/** Converts the output of a command to log entries. A line that is written in parts appears when it is complete. */
export const entriesOf = (output: readonly Output[]): readonly LogEntry[] => {
  const entries: LogEntry[] = [];
  const partial = {stdout: '', stderr: ''};
  for (const {afterMs, text, stream} of output) {
    const all = partial[stream] + text;
    const end = all.lastIndexOf('\n');
    partial[stream] = all.slice(end + 1);
    if (end >= 0) entries.push({text: all.slice(0, end).replaceAll('$', '$$$$'), stream, afterMs});
  }
  const last = output.at(-1)?.afterMs ?? 0;
  for (const stream of ['stdout', 'stderr'] as const)
    if (partial[stream]) entries.push({text: partial[stream].replaceAll('$', '$$$$'), stream, afterMs: last});
  return entries;
};
