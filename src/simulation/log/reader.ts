import type {LogQuery, LogStream} from '#src/api/agent.js';
import type {Clock} from '#src/base/clock.js';
import {linesFrom, nextLineAfter, placeOfLast, type LogLine, type LogPlace} from './lines.js';
import type {LogSource} from './source.js';

export interface LogReading {
  readonly source: LogSource;
  readonly query: LogQuery;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Calls back once the pod has changed, unless disposed before. */
  onChange(run: () => void): Disposable;
}

/** A log is kept to so many lines, as an agent does that begins a new file when one is full. */
const mostLines = 100_000;
const pieceLength = 16 << 10;

const isWanted = (stream: LogStream, line: LogLine): boolean => stream === 'All' || (stream === 'Stdout') === (line.stream === 'stdout');

/** A time with nanoseconds, as the lines of logs begin. */
const stamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000000Z`;

/** Cuts what is written to a number of bytes. */
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

/** Gives the lines of a log in pieces: what there is, and, where it is followed, what comes until the run ends or the signal aborts. */
export async function* readLog({source, query, clock, signal, onChange}: LogReading): AsyncGenerator<string, void, undefined> {
  const {log} = source;
  const {timestamps, since = -Infinity, tailLines = mostLines, limitBytes = Infinity, follow, stream} = query;
  const limit = new Limit(limitBytes);
  const last = () => Math.min(clock.now(), source.endedAt() ?? Infinity);
  let place: LogPlace = placeOfLast(log, Math.min(tailLines, mostLines), last());
  while (!signal.aborted) {
    const endedAt = source.endedAt();
    const until = last();
    let piece = '';
    for (const line of linesFrom(log, place, until)) {
      place = line.at === place.at ? {at: place.at, skip: place.skip + 1} : {at: line.at, skip: 1};
      if (line.at < since || !isWanted(stream, line)) continue;
      piece += `${timestamps ? `${stamp(line.at)} ` : ''}${line.text}\n`;
      if (piece.length < pieceLength) continue;
      yield limit.cut(piece);
      piece = '';
      if (limit.isReached || signal.aborted) return;
    }
    if (piece) yield limit.cut(piece);
    if (!follow || endedAt !== undefined || limit.isReached) return;
    await changed(nextLineAfter(log, until) - clock.now(), {clock, signal, onChange});
  }
}

/** Resolves after a time, when the pod changes or when the signal aborts, whichever comes first. */
const changed = (afterMs: number, {clock, signal, onChange}: Pick<LogReading, 'clock' | 'signal' | 'onChange'>): Promise<void> =>
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
