// Reads the bodies of HTTP/2 streams.

import type {ServerHttp2Stream} from 'node:http2';
import type {BodyObserver} from '#src/api/request.js';
import {endedEarly, tooLarge} from './http-body.js';

/** Whether the client has sent all, even if it has not been read. */
export const hasEnded = (stream: ServerHttp2Stream): boolean =>
  (stream as unknown as {readonly _readableState: {readonly ended: boolean}})._readableState.ended;

/**
 * Resolves when the client has sent all, with what had to be taken from the stream before. Rejects like `collectHttp2`.
 */
const arrived = (stream: ServerHttp2Stream, limit: number, reading: BodyObserver | undefined): Promise<Buffer[]> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let taken = 0;
    let length = 0;
    let isSettled = false;
    const fail = (error: Error) => {
      isSettled = true;
      void reading?.ended(false);
      chunks.length = 0;
      reject(error);
    };
    /** What still arrives until the stream closes is discarded: it does not close before its end was read. */
    const stop = (error: Error) => {
      if (isSettled) return;
      fail(error);
      stream.off('readable', look).resume();
    };
    const closed = () => {
      if (!isSettled) fail(endedEarly(stream.errored));
    };
    const look = () => {
      if (isSettled) return;
      const {readableLength} = stream;
      const bytes = taken + readableLength - length;
      length += bytes;
      if (length > limit) return stop(tooLarge(limit));
      if (bytes > 0) reading?.received(bytes);
      if (hasEnded(stream)) {
        isSettled = true;
        resolve(chunks);
      } else if (readableLength >= stream.readableHighWaterMark) {
        chunks.push(stream.read() as Buffer);
        taken += readableLength;
      }
    };
    if (stream.destroyed) return closed();
    // Node would otherwise begin to read in a turn of its own.
    stream.read(0);
    stream.on('readable', look).on('close', closed);
    reading?.started(stop);
    if (hasEnded(stream)) look();
  });

/**
 * Collects the body of a stream. The last bytes stay in the stream's buffer until all have arrived, and are taken in a
 * way that lets the stream end only when it closes: a stream that has ended before is destroyed by Node while its
 * response is being sent, which creates an error with a stack for each request.
 */
export const collectHttp2 = async (stream: ServerHttp2Stream, limit: number, reading: BodyObserver | undefined): Promise<Buffer> => {
  const chunks = await arrived(stream, limit, reading);
  const last = stream.read(stream.readableLength) as Buffer | null;
  if (last) chunks.push(last);
  // It ends now if it was closed meanwhile.
  if (stream.closed) stream.read(0);
  const entering = reading?.ended(true);
  const refusal = await entering;
  if (refusal) throw refusal;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
};
