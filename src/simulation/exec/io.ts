import type {Writable} from 'node:stream';
import type {CommandStreams} from '#src/api/node/agent.js';
import type {CommandIo} from './context.js';

/** Writes to a stream; resolves once it accepts more data or is closed. */
const writeTo = (stream: Writable | undefined, content: string | Buffer): Promise<void> => {
  if (!stream || stream.destroyed || stream.writableEnded || content.length === 0) return Promise.resolve();
  if (stream.write(content)) return Promise.resolve();
  return new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
};

const terminalLines = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n');

/** Adapts the streams of a command: a terminal merges both outputs and ends lines with CRLF. */
export const commandIo = ({stdin, stdout, stderr, tty}: CommandStreams): CommandIo => ({
  stdin,
  tty,
  out: content => writeTo(stdout, tty ? terminalLines(content.toString()) : content),
  err: text => (tty ? writeTo(stdout, terminalLines(text)) : writeTo(stderr, text)),
});
