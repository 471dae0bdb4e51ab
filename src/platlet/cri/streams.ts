// Commands and port forwards over the streams of a session with the runtime.

import type {Duplex, Readable, Writable} from 'node:stream';
import {RuntimeError, type ProcessStreams} from '#src/platlet/runtime/runtime.js';
import type {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';

/** The maximum size of an error that is read. */
const maxErrorBytes = 64 << 10;

/** Resolves with the content of a stream once it has ended. Rejects if the connection was lost before. */
const textOf = async (stream: SpdyStream): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream.iterator({destroyOnReturn: false}) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxErrorBytes) chunks.push(chunk);
  }
  if (stream.lost && bytes === 0)
    throw new RuntimeError('unavailable', `error reading from error stream: ${stream.lost.message}`, {cause: stream.lost});
  return Buffer.concat(chunks).toString();
};

/**
 * Forwards everything without ending the receiver. Resolves once all is written; writes to a closed receiver are
 * dropped.
 */
const passOn = async (from: Readable, to: Writable): Promise<void> => {
  let written: (() => void) | undefined;
  const settle = (): void => written?.();
  to.on('close', settle).on('error', settle);
  try {
    for await (const chunk of from.iterator({destroyOnReturn: false}) as AsyncIterable<Buffer>) {
      if (to.destroyed || to.writableEnded) continue;
      await new Promise<void>(resolve => {
        written = resolve;
        to.write(chunk, settle);
      });
    }
  } finally {
    to.off('close', settle).off('error', settle);
  }
};

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {readonly causes?: readonly {readonly reason?: string; readonly message?: string}[]};
}

/** Returns the exit code in an error stream. Throws other errors that it reports. */
export const exitCodeOf = (text: string): number => {
  if (text === '') return 0;
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch (cause) {
    throw new RuntimeError('failed', `error stream protocol error: ${text}`, {cause});
  }
  if (status.status === 'Success') return 0;
  if (status.reason === 'NonZeroExitCode') {
    const code = status.details?.causes?.find(({reason}) => reason === 'ExitCode')?.message ?? '';
    if (/^-?\d+$/.test(code)) return Number(code);
  }
  throw new RuntimeError('failed', status.message ?? 'error stream protocol error: unknown error');
};

/** Sends terminal sizes until the returned function is called. */
const sendSizes = (sizes: NonNullable<ProcessStreams['sizes']>, stream: Writable, failed: (error: unknown) => void): (() => void) => {
  const iterator = sizes[Symbol.asyncIterator]();
  let isOver = false;
  const send = async (): Promise<void> => {
    for (;;) {
      const next = await iterator.next();
      if (next.done || isOver) return;
      stream.write(JSON.stringify({Width: next.value.width, Height: next.value.height}));
    }
  };
  send().catch((error: unknown) => {
    if (!isOver) failed(error);
  });
  return () => {
    isOver = true;
    void iterator.return?.();
  };
};

/**
 * Connects the streams of a process. Resolves with its exit code once all its output is written. Closes the session.
 */
export const runProcess = async (session: SpdySession, streams: ProcessStreams): Promise<number> => {
  const {stdin, stdout, stderr, tty, sizes} = streams;
  const open = (streamtype: string): SpdyStream => session.open({streamtype});
  const error = open('error');
  const input = stdin && open('stdin');
  const output = stdout && open('stdout');
  const errors = stderr && !tty ? open('stderr') : undefined;
  const resize = tty ? open('resize') : undefined;
  let fail: (cause: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const stopSizes = sizes && resize && sendSizes(sizes, resize, fail);
  error.end();
  stdin?.on('error', fail);
  if (stdin && input) {
    stdin.pipe(input);
    input.resume();
  }
  resize?.resume();
  try {
    const [text] = await Promise.race([
      Promise.all([textOf(error), output && passOn(output, stdout), errors && stderr && passOn(errors, stderr)]),
      failed,
    ]);
    return exitCodeOf(text);
  } finally {
    stopSizes?.();
    stdin?.off('error', fail);
    if (input) stdin?.unpipe(input);
    session.close();
    for (const stream of [error, input, output, errors, resize]) stream?.destroy();
  }
};

/** Connects a client connection to a port. Resolves once both directions have ended. Closes the session. */
export const forwardPort = async (session: SpdySession, port: number, connection: Duplex): Promise<void> => {
  const open = (streamtype: string): SpdyStream => session.open({streamtype, port: String(port), requestid: '0'});
  const error = open('error');
  error.end();
  const data = open('data');
  const abort = (): void => void data.destroy();
  connection.on('error', abort).on('close', abort);
  try {
    connection.pipe(data).pipe(connection);
    const [text] = await Promise.all([textOf(error), ended(data)]);
    if (text !== '') throw new RuntimeError('failed', text);
  } finally {
    connection.off('error', abort).off('close', abort);
    connection.unpipe(data);
    session.close();
    for (const stream of [error, data]) stream.destroy();
  }
};

/** Resolves once a stream has ended in both directions, or was closed. */
const ended = (stream: Duplex): Promise<void> =>
  new Promise(resolve => {
    const check = (): void => {
      if (stream.destroyed || (stream.readableEnded && stream.writableFinished)) resolve();
    };
    stream.on('end', check).on('finish', check).on('close', check);
    check();
  });
