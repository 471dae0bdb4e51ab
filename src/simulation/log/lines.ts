import {Heap} from '#src/base/heap.js';
import {expandKnown} from '#src/simulation/pod/environment.js';
import type {LogEntry} from './entry.js';

/** One line of a log. */
export interface LogLine {
  /** In ms since the epoch. */
  readonly at: number;
  readonly stream: LogEntry['stream'];
  readonly text: string;
}

/** The log of one run of a container: what it writes, and when. */
export interface RunLog {
  readonly startedAt: number;
  readonly entries: readonly LogEntry[];
  /** The value of a reference in the text of the nth time. */
  valueOf(name: string, count: number): string | undefined;
}

const linesIn = (text: string): number => {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
};

/** How many times an entry was written by a moment after the start. */
const occurrencesBy = ({afterMs, everyMs, times = Infinity}: LogEntry, elapsedMs: number): number => {
  if (elapsedMs < afterMs) return 0;
  return everyMs === undefined ? 1 : Math.min(times, Math.floor((elapsedMs - afterMs) / everyMs) + 1);
};

/** How many lines were written by a moment (ms since the epoch), that moment included. */
const linesWrittenBy = ({startedAt, entries}: RunLog, until: number): number => {
  let sum = 0;
  for (const entry of entries) sum += occurrencesBy(entry, until - startedAt) * linesIn(entry.text);
  return sum;
};

/** A place in a log: at this moment, so many lines further on. */
export interface LogPosition {
  readonly at: number;
  readonly skip: number;
}

/** Where the last `count` lines begin of those that were written by `until`. */
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

/** When an entry is written first at a moment or later; undefined where it is not any more. */
const nextOccurrence = (entry: LogEntry, order: number, {startedAt}: RunLog, from: number): PendingLine | undefined => {
  const before = occurrencesBy(entry, from - startedAt - 1);
  if (before >= (entry.everyMs === undefined ? 1 : (entry.times ?? Infinity))) return undefined;
  return {entry, order, at: startedAt + entry.afterMs + before * (entry.everyMs ?? 0), count: before + 1};
};

/** The lines from a place on that were written by `until`, in the order of their times. */
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

/** When the next line is written after a moment; Infinity when none is. */
export const nextLineAfter = (log: RunLog, at: number): number => {
  let next = Infinity;
  for (const [order, entry] of log.entries.entries()) next = Math.min(next, nextOccurrence(entry, order, log, at + 1)?.at ?? Infinity);
  return next;
};
