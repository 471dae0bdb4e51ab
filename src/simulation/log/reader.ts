import type {LogQuery, LogStream} from '#src/api/node/agent.js';
import type {Clock} from '#src/base/clock.js';
import {linesFrom, nextLineAfter, positionOfLast, type LogLine, type LogPosition} from './lines.js';
import type {Timeline} from '#src/simulation/time/timeline.js';
import type {LogSource} from './source.js';

export interface ReadLogOptions {
  readonly source: LogSource;
  readonly query: LogQuery;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly signal: AbortSignal;
  /** Calls `run` at the next change of the pod, unless disposed of before. */
  onChange(run: () => void): Disposable;
}

/** The maximum number of readable lines of a log, as after log rotation. */
const maxLines = 100_000;
const chunkLength = 16 << 10;

const isOfStream = (stream: LogStream, line: LogLine): boolean => stream === 'All' || (stream === 'Stdout') === (line.stream === 'stdout');

/** Formats a time with nanoseconds, as at the beginning of log lines. */
const stamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000000Z`;

/** Truncates the output to a number of bytes. */
class Limit {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get isReached(): boolean {
    return this.#left <= 0;
  }

  cut(text: string): string {
    if (this.#left === Infinity) return text;
    const bytes = Buffer.from(text);
    const taken = bytes.subarray(0, this.#left);
    this.#left -= taken.length;
    return taken.length === bytes.length ? text : taken.toString();
  }
}

/**
 * Yields the lines of a log in chunks: the existing ones, and with `follow` new ones until the run ends or the signal
 * aborts.
 */
export async function* readLog({
  source,
  query,
  clock,
  timeline,
  signal,
  onChange,
}: ReadLogOptions): AsyncGenerator<string, void, undefined> {
  const {log} = source;
  const {timestamps, since = -Infinity, tailLines = maxLines, limitBytes = Infinity, follow, stream} = query;
  const limit = new Limit(limitBytes);
  const last = () => Math.min(timeline.now(), source.endedAt() ?? Infinity);
  let position: LogPosition = positionOfLast(log, Math.min(tailLines, maxLines), last());
  while (!signal.aborted) {
    const endedAt = source.endedAt();
    const until = last();
    let chunk = '';
    for (const line of linesFrom(log, position, until)) {
      position = line.at === position.at ? {at: position.at, skip: position.skip + 1} : {at: line.at, skip: 1};
      const writtenAt = timeline.wallOf(line.at);
      if (writtenAt < since || !isOfStream(stream, line)) continue;
      chunk += `${timestamps ? `${stamp(writtenAt)} ` : ''}${line.text}\n`;
      if (chunk.length < chunkLength) continue;
      yield limit.cut(chunk);
      chunk = '';
      if (limit.isReached || signal.aborted) return;
    }
    if (chunk) yield limit.cut(chunk);
    if (!follow || endedAt !== undefined || limit.isReached) return;
    await waitForChange(nextLineAfter(log, until) - timeline.now(), {clock, signal, onChange});
  }
}

/** Resolves after a time, at the next change of the pod, or when the signal aborts. */
const waitForChange = (afterMs: number, {clock, signal, onChange}: Pick<ReadLogOptions, 'clock' | 'signal' | 'onChange'>): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      timer?.[Symbol.dispose]();
      listener[Symbol.dispose]();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = afterMs === Infinity ? undefined : clock.schedule(afterMs, done);
    const listener = onChange(done);
    signal.addEventListener('abort', done, {once: true});
    if (signal.aborted) done();
  });
