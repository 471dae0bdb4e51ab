import {Heap} from '#src/base/heap.js';
import {expandKnown} from '#src/model/pod/expansion.js';
import type {LogEntry} from '#src/simulation/rules/log-entry.js';

/** One line of a log. */
export interface LogLine {
  /** In ms of the timeline of pods. */
  readonly at: number;
  readonly stream: LogEntry['stream'];
  readonly text: string;
}

/** The log of one run of a container. */
export interface RunLog {
  readonly startedAt: number;
  readonly entries: readonly LogEntry[];
  /** Returns the value of a reference in the nth occurrence of an entry. */
  valueOf(name: string, count: number): string | undefined;
}

const linesIn = (text: string): number => {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
};

/** Returns how many times an entry was written by a moment after the start. */
const occurrencesBy = ({afterMs, everyMs, times = Infinity}: LogEntry, elapsedMs: number): number => {
  if (elapsedMs < afterMs) return 0;
  return everyMs === undefined ? 1 : Math.min(times, Math.floor((elapsedMs - afterMs) / everyMs) + 1);
};

/** Returns the number of lines written until a time, inclusive. */
const linesWrittenBy = ({startedAt, entries}: RunLog, until: number): number => {
  let sum = 0;
  for (const entry of entries) sum += occurrencesBy(entry, until - startedAt) * linesIn(entry.text);
  return sum;
};

/** A position in a log: a time, and the number of lines of that time to skip. */
export interface LogPosition {
  readonly at: number;
  readonly skip: number;
}

/** Returns the position of the last `count` lines written by `until`. */
export const positionOfLast = (log: RunLog, count: number, until: number): LogPosition => {
  const surplus = linesWrittenBy(log, until) - count;
  if (surplus <= 0) return {at: log.startedAt, skip: 0};
  let [low, high] = [log.startedAt, until];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (linesWrittenBy(log, middle) >= surplus) high = middle;
    else low = middle + 1;
  }
  return {at: low, skip: surplus - linesWrittenBy(log, low - 1)};
};

interface PendingLine {
  readonly entry: LogEntry;
  readonly order: number;
  at: number;
  count: number;
}

/** Returns the first occurrence of an entry at or after a moment; undefined if there is none. */
const nextOccurrence = (entry: LogEntry, order: number, {startedAt}: RunLog, from: number): PendingLine | undefined => {
  const before = occurrencesBy(entry, from - startedAt - 1);
  if (before >= (entry.everyMs === undefined ? 1 : (entry.times ?? Infinity))) return undefined;
  return {entry, order, at: startedAt + entry.afterMs + before * (entry.everyMs ?? 0), count: before + 1};
};

/** Yields the lines from a position on that were written by `until`, in order of time. */
export function* linesFrom(log: RunLog, {at: from, skip}: LogPosition, until: number): Iterable<LogLine> {
  const pending = new Heap<PendingLine>((a, b) => a.at - b.at || a.order - b.order);
  for (const [order, entry] of log.entries.entries()) {
    const next = nextOccurrence(entry, order, log, from);
    if (next) pending.push(next);
  }
  let left = skip;
  for (let next = pending.pop(); next && next.at <= until; next = pending.pop()) {
    const {entry, at, count} = next;
    for (const line of expandKnown(entry.text, name => log.valueOf(name, count)).split('\n')) {
      if (left > 0) left--;
      else yield {at, stream: entry.stream, text: line};
    }
    if (entry.everyMs === undefined || count >= (entry.times ?? Infinity)) continue;
    next.at += entry.everyMs;
    next.count++;
    pending.push(next);
  }
}

/** Returns when the next line after a moment is written; Infinity if none is. */
export const nextLineAfter = (log: RunLog, at: number): number => {
  let next = Infinity;
  for (const [order, entry] of log.entries.entries()) next = Math.min(next, nextOccurrence(entry, order, log, at + 1)?.at ?? Infinity);
  return next;
};
