import type {Writable} from 'node:stream';
import {LineGroups} from './line-groups.js';
import type {LineWriter} from './log-sink.js';

/** Writes lines to a stream that is not its own: standard output. */
export const streamWriter = (stream: Pick<Writable, 'write'>): LineWriter => {
  const groups = new LineGroups(
    lines =>
      new Promise((resolve, reject) => {
        stream.write(Buffer.concat(lines.map(line => Buffer.from(line))), error => (error ? reject(error) : resolve()));
      }),
  );
  return {write: (line, isAwaited) => groups.add(line, isAwaited), close: () => groups.settled()};
};
