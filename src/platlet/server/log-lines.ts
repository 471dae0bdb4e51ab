// The lines of a container's log as the runtime writes them: `TIME STREAM TAGS TEXT`. A line of the container that is longer than the runtime's limit comes in
// parts, of which all but the last have the tag `P`.

import type {LogQuery} from '#src/api/node/agent.js';

export interface LogLine {
  /** As in the file. */
  readonly stamp: string;
  readonly stream: 'stdout' | 'stderr';
  /** Whether more of the line follows. */
  readonly isPartial: boolean;
  readonly text: Buffer;
}

const space = 0x20;
const newline = 0x0a;

/** Returns the parts of a line without its end; undefined if it is none of a log. */
export const parseLogLine = (line: Buffer): LogLine | undefined => {
  const afterStamp = line.indexOf(space);
  const afterStream = afterStamp < 0 ? -1 : line.indexOf(space, afterStamp + 1);
  if (afterStream < 0) return undefined;
  const found = line.indexOf(space, afterStream + 1);
  const afterTags = found < 0 ? line.length : found;
  const stamp = line.toString('latin1', 0, afterStamp);
  const stream = line.toString('latin1', afterStamp + 1, afterStream);
  const [tag] = line.toString('latin1', afterStream + 1, afterTags).split(':');
  if ((stream !== 'stdout' && stream !== 'stderr') || Number.isNaN(Date.parse(stamp))) return undefined;
  return {stamp, stream, isPartial: tag === 'P', text: line.subarray(Math.min(afterTags + 1, line.length))};
};

/** Returns a time with all digits of its nanoseconds, as clients sort by. */
const fixedStamp = (stamp: string): string => {
  const [, seconds = '', digits = '', zone = 'Z'] = /^(.*?T\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(stamp) ?? [];
  return `${seconds}.${digits.padEnd(9, '0').slice(0, 9)}${zone}`;
};

/** Chooses and writes the lines that a client wants. */
export class LogWriter {
  readonly #query: LogQuery;
  #left: number;
  #atStart = true;

  constructor(query: LogQuery) {
    this.#query = query;
    this.#left = query.limitBytes ?? Infinity;
  }

  /** Whether the client gets no more. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Returns what of a line the client gets. */
  write({stamp, stream, isPartial, text}: LogLine): Buffer {
    const {since, stream: wanted, timestamps} = this.#query;
    if (since !== undefined && Date.parse(stamp) < since) return Buffer.alloc(0);
    if (wanted !== 'All' && wanted.toLowerCase() !== stream) return Buffer.alloc(0);
    const pieces = [
      ...(timestamps && this.#atStart ? [Buffer.from(`${fixedStamp(stamp)} `)] : []),
      text,
      ...(isPartial ? [] : [Buffer.from([newline])]),
    ];
    this.#atStart = !isPartial;
    const whole = Buffer.concat(pieces);
    const part = whole.length > this.#left ? whole.subarray(0, this.#left) : whole;
    this.#left -= part.length;
    return part;
  }
}
