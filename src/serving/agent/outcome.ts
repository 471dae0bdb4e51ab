import type {Writable} from 'node:stream';
import {messageOf} from '#src/base/message.js';
import {nonZeroExitCode} from '#src/serving/streams/outcome.js';

/** The exit code of a command, or the error that ended it. */
export type Ending = {readonly code: number} | {readonly error: unknown};

const textOf = (ending: Ending): string => {
  if ('error' in ending) return messageOf(ending.error);
  return ending.code === 0 ? '' : `command terminated with non-zero exit code: exit code ${ending.code}`;
};

/**
 * The message about the end of a command: a `Status` from version 4 of the protocol on; in older ones a text, which is
 * empty for success.
 */
export const endingText = (ending: Ending, version: number): string => {
  const message = textOf(ending);
  if (version < 4) return message;
  if (message === '') return JSON.stringify({metadata: {}, status: 'Success'});
  if ('error' in ending) return JSON.stringify({metadata: {}, status: 'Failure', reason: 'InternalError', message, code: 500});
  const details = {causes: [{reason: 'ExitCode', message: String(ending.code)}]};
  return JSON.stringify({metadata: {}, status: 'Failure', reason: nonZeroExitCode, message, details});
};

/** Resolves when everything written has been read, or the readers are gone. */
export const flushed = (streams: readonly Writable[]): Promise<unknown> =>
  Promise.all(
    streams.map(
      stream =>
        new Promise<void>(resolve => {
          if (stream.destroyed || stream.writableFinished) return resolve();
          stream.once('finish', resolve).once('close', resolve);
        }),
    ),
  );
