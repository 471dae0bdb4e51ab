// Reads the bodies of requests over either version of HTTP.

import type {ServerHttp2Stream} from 'node:http2';
import type {Readable} from 'node:stream';
import type {ApiBody, BodyObserver} from '#src/api/request.js';
import {badRequest, entityTooLarge} from '#src/api/status.js';
import {BodyChunks} from '#src/base/collections/body-chunks.js';
import {isPending} from '#src/base/eventually.js';

type BytesBody = Extract<ApiBody, {kind: 'bytes'}>;

/** Reads a stream to its end. Rejects with 413 above the limit, and with 400 if the stream closes before its end. */
type Collect<S extends Readable> = (stream: S, limit: number, reading: BodyObserver | undefined) => Promise<Buffer>;

/** A request body that has not been read yet. It is read at most once; a second reader gets the same bytes. */
export class UnreadBody<S extends Readable> implements BytesBody {
  readonly kind = 'bytes';
  readonly #stream: S;
  readonly #declared: number;
  readonly #collect: Collect<S>;
  #bytes: Promise<Buffer> | undefined;
  #reading: BodyObserver | undefined;
  #isTaken = false;
  size: number | undefined;

  /** `declared` is the announced length; NaN without one. */
  constructor(stream: S, declared: number, collect: Collect<S>) {
    this.#stream = stream;
    this.#declared = declared;
    this.#collect = collect;
  }

  read(limit: number): Promise<Buffer> {
    return (this.#bytes ??= this.#declared > limit ? Promise.reject(tooLarge(limit)) : this.#whole(limit));
  }

  #whole(limit: number): Promise<Buffer> {
    this.#isTaken = true;
    const bytes = this.#collect(this.#stream, limit, this.#reading);
    bytes.then(
      ({length}) => (this.size = length),
      () => undefined,
    );
    return bytes;
  }

  stream(): Readable {
    this.#isTaken = true;
    if (this.#reading) passing(this.#stream, this.#reading);
    return this.#stream;
  }

  observe(reading: BodyObserver): void {
    this.#reading = reading;
  }

  /**
   * Discards what has arrived and still arrives, unless it was taken. Called with the response, whose end the client
   * decides.
   */
  discard(): void {
    if (this.#isTaken) return;
    if (!hasEnded(this.#stream)) this.#stream.resume();
    else if (this.#stream.readableLength > 0) this.#stream.read(this.#stream.readableLength);
  }
}

/** The body of a request for an upgrade. Its end is unknown, so it cannot be read. */
export const unreadableBody: BytesBody = {
  kind: 'bytes',
  read: () => Promise.reject(badRequest('a request to upgrade the connection cannot have a body')),
};

const tooLarge = (limit: number): Error => entityTooLarge(`limit is ${limit}`);

/** Reports the progress of a body that is relayed. Such a request is not refused any more. */
const passing = (stream: Readable, reading: BodyObserver): void => {
  if (stream.destroyed || stream.readableEnded) return;
  const over = () => {
    stream.off('end', over).off('close', over);
    void reading.ended(true);
  };
  stream.on('end', over).on('close', over);
  reading.started(error => void stream.destroy(error));
};

const endedEarly = (cause: unknown): Error => badRequest('the body of the request ended early', cause);

/** Collects the body of an HTTP/1.1 request. */
export const collectHttp1: Collect<Readable> = (stream, limit, reading) =>
  new Promise((resolve, reject) => {
    const chunks = new BodyChunks();
    let length = 0;
    // The listeners of a body that came whole stay: removing them takes longer than what they do afterwards.
    let isSettled = false;
    const settle = (isWhole: boolean) => {
      isSettled = true;
      return reading?.ended(isWhole);
    };
    const stop = (error: Error) => {
      if (isSettled) return;
      void settle(false);
      chunks.clear();
      stream.off('data', take).pause();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      if (isSettled) return;
      length += chunk.length;
      if (length > limit) return stop(tooLarge(limit));
      chunks.push(chunk);
      reading?.received(chunk.length);
    };
    const finish = () => {
      if (isSettled) return;
      const proceed = (refusal: Error | undefined) => {
        const bytes = chunks.take();
        if (refusal) reject(refusal);
        else resolve(bytes);
      };
      const refusal = settle(true);
      if (isPending(refusal)) refusal.then(proceed, reject);
      else proceed(refusal);
    };
    const fail = (cause?: unknown) => {
      if (isSettled) return;
      void settle(false);
      reject(endedEarly(cause));
    };
    if (stream.destroyed) return fail();
    stream.on('data', take).on('end', finish).on('error', fail).on('close', fail);
    reading?.started(stop);
  });

/** Whether the client has sent all, even if it has not been read. */
export const hasEnded = (stream: Readable): boolean =>
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
        // Without a length it would be a single piece of them, from Node.js 26 on.
        chunks.push(stream.read(readableLength) as Buffer);
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
