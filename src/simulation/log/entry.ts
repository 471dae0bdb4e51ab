import type {Output} from '#src/simulation/command/outcome.js';

/** What a container writes into its log: a text of one line or several, once or again and again. */
export interface LogEntry {
  /** With references such as `$(COUNT)`. */
  readonly text: string;
  readonly stream: 'stdout' | 'stderr';
  /** From the container's start. */
  readonly afterMs: number;
  /** From one time to the next; once unless given. */
  readonly everyMs?: number;
  /** How many times it is written at most. */
  readonly times?: number;
}

/** The entries of a log that is what a command writes. A line that is written in parts is there once it ends. */
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
  for (const stream of ['stdout', 'stderr'] as const) if (partial[stream]) entries.push({text: partial[stream].replaceAll('$', '$$$$'), stream, afterMs: last});
  return entries;
};
