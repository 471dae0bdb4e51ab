// The lines of a container log in CRI format: `TIME STREAM TAGS TEXT`. The runtime splits longer lines into parts, all
// of which but the last have the tag `P`. Lines are parsed in place, as logs have millions of them.

import type {LogQuery} from '#src/api/node/agent.js';

export interface LogLine {
  /** The block that contains the line, and the positions of its parts. */
  readonly block: Buffer;
  readonly start: number;
  readonly stampEnd: number;
  readonly textStart: number;
  readonly end: number;
  readonly stream: 'stdout' | 'stderr';
  /** Whether the line is partial: the next one continues it. */
  readonly isPartial: boolean;
}

const space = 0x20;
const newline = 0x0a;
const [colon, dash, tee, dot, partial] = [...Buffer.from(':-T.P')] as [number, number, number, number, number];
const streams = {stdout: Buffer.from('stdout'), stderr: Buffer.from('stderr')} as const;

const stampOf = ({block, start, stampEnd}: Pick<LogLine, 'block' | 'start' | 'stampEnd'>): string =>
  block.toString('latin1', start, stampEnd);

/**
 * Whether there is a time at a position. Runtimes write all times in one layout, so that few have to be parsed.
 */
const isStamp = (block: Buffer, start: number, stampEnd: number): boolean =>
  (block[start + 4] === dash &&
    block[start + 7] === dash &&
    block[start + 10] === tee &&
    block[start + 13] === colon &&
    block[start + 16] === colon &&
    block[start + 19] === dot &&
    stampEnd > start + 20) ||
  !Number.isNaN(Date.parse(stampOf({block, start, stampEnd})));

/** Whether there is a word at a position. Words are short: a call of `compare` would be slower. */
const hasWord = (block: Buffer, word: Buffer, start: number): boolean => {
  for (let at = 0; at < word.length; at++) if (block[start + at] !== word[at]) return false;
  return true;
};

const streamAt = (block: Buffer, start: number, end: number): LogLine['stream'] | undefined => {
  for (const stream of ['stdout', 'stderr'] as const)
    if (end - start === streams[stream].length && hasWord(block, streams[stream], start)) return stream;
  return undefined;
};

/** Returns the position of the next blank, or the end. */
const blankAfter = (block: Buffer, start: number, end: number): number => {
  let at = start;
  while (at < end && block[at] !== space) at++;
  return at;
};

/** Returns the parts of a line without its newline; undefined for a malformed line. */
export const parseLogLine = (block: Buffer, start = 0, end = block.length): LogLine | undefined => {
  const stampEnd = blankAfter(block, start, end);
  const streamEnd = blankAfter(block, stampEnd + 1, end);
  if (streamEnd >= end) return undefined;
  const tagsEnd = blankAfter(block, streamEnd + 1, end);
  const stream = streamAt(block, stampEnd + 1, streamEnd);
  if (!stream || !isStamp(block, start, stampEnd)) return undefined;
  const tagEnd = streamEnd + 2;
  const isPartial = block[streamEnd + 1] === partial && (tagEnd === tagsEnd || block[tagEnd] === colon);
  return {block, start, stampEnd, textStart: Math.min(tagsEnd + 1, end), end, stream, isPartial};
};

/** Formats a time with nine digits of nanoseconds, so that clients can sort by it. */
const fixedStamp = (stamp: string): string => {
  const [, seconds = '', digits = '', zone = 'Z'] = /^(.*?T\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(stamp) ?? [];
  return `${seconds}.${digits.padEnd(9, '0').slice(0, 9)}${zone}`;
};

/** The maximum length of a time, the blank after it, and the newline. */
const mostBesideText = 64;

/** Filters the lines of a log and collects the output. */
export class LogWriter {
  readonly #query: LogQuery;
  readonly #wanted: LogLine['stream'] | undefined;
  #left: number;
  /** The number of lines still to output. */
  #lines: number;
  #atStart = true;
  #output: Buffer;
  #length = 0;

  /** Large enough for most outputs. */
  constructor(query: LogQuery, size: number) {
    this.#query = query;
    this.#wanted = query.stream === 'All' ? undefined : query.stream === 'Stdout' ? 'stdout' : 'stderr';
    this.#left = query.limitBytes ?? Infinity;
    // A container that writes faster than its log is read would otherwise be followed without end.
    this.#lines = query.follow ? Infinity : (query.tailLines ?? Infinity);
    this.#output = Buffer.allocUnsafe(size);
  }

  /** Whether the output is complete. */
  get isFull(): boolean {
    return this.#left <= 0 || this.#lines <= 0;
  }

  /** Adds a line to the output. */
  write(line: LogLine): void {
    this.#lines--;
    const {since, timestamps} = this.#query;
    if (since !== undefined && Date.parse(stampOf(line)) < since) return;
    if (this.#wanted !== undefined && this.#wanted !== line.stream) return;
    const {block, textStart, end, isPartial} = line;
    const before = this.#length;
    this.#reserve(end - textStart + mostBesideText);
    if (timestamps && this.#atStart) this.#length += this.#output.write(`${fixedStamp(stampOf(line))} `, this.#length, 'latin1');
    this.#length += block.copy(this.#output, this.#length, textStart, end);
    if (!isPartial) this.#output[this.#length++] = newline;
    this.#atStart = !isPartial;
    this.#length = Math.min(this.#length, before + this.#left);
    this.#left -= this.#length - before;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#output.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + bytes));
    this.#output.copy(larger, 0, 0, this.#length);
    this.#output = larger;
  }

  /**
   * Returns the collected output and starts over. Small outputs are copied, so that they do not retain a large block.
   */
  take(): Buffer {
    const taken = this.#output.subarray(0, this.#length);
    const isLittle = this.#length < this.#output.length / 4;
    if (!isLittle) this.#output = Buffer.allocUnsafe(this.#output.length);
    this.#length = 0;
    return isLittle ? Buffer.from(taken) : taken;
  }
}
