import type {Writable} from 'node:stream';
import type {CommandStreams} from '#src/api/agent.js';
import type {CommandIo} from './context.js';

/** Writes to a stream that somebody may want; resolves once there is room for more, or nobody reads any more. */
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

/** The streams of a command, as commands use them: on a terminal both outputs are one, and lines begin at the left. */
export const commandIo = ({stdin, stdout, stderr, tty}: CommandStreams): CommandIo => ({
  stdin,
  tty,
  out: content => writeTo(stdout, tty ? terminalLines(content.toString()) : content),
  err: text => (tty ? writeTo(stdout, terminalLines(text)) : writeTo(stderr, text)),
});
