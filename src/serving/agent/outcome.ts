import type {Writable} from 'node:stream';
import {messageOf} from '#src/base/message.js';
import {exited} from '#src/serving/streams/outcome.js';

/** How a command ended: its exit code, or why it did not come to its end. */
export type Ending = {readonly code: number} | {readonly error: unknown};

const textOf = (ending: Ending): string => {
  if ('error' in ending) return messageOf(ending.error);
  return ending.code === 0 ? '' : `command terminated with non-zero exit code: exit code ${ending.code}`;
};

/** What a client is told of an ending: a `Status` since version 4 of the protocol, something to read before, and nothing there of one that went well. */
export const endingText = (ending: Ending, version: number): string => {
  const message = textOf(ending);
  if (version < 4) return message;
  if (message === '') return JSON.stringify({metadata: {}, status: 'Success'});
  if ('error' in ending) return JSON.stringify({metadata: {}, status: 'Failure', reason: 'InternalError', message, code: 500});
  const details = {causes: [{reason: 'ExitCode', message: String(ending.code)}]};
  return JSON.stringify({metadata: {}, status: 'Failure', reason: exited, message, details});
};

/** Resolves once all that was written has been taken, or nobody takes it any more. */
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
