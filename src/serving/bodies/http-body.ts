import {isPending} from '#src/base/eventually.js';
import type {Readable} from 'node:stream';
import type {ApiBody, BodyObserver} from '#src/api/request.js';
import {badRequest, entityTooLarge} from '#src/api/status.js';
import {BodyChunks} from '#src/base/collections/body-chunks.js';

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
    const bytes = this.#collect(this.#stream, limit, this.#reading);
    bytes.then(
      ({length}) => (this.size = length),
      () => undefined,
    );
    return bytes;
  }

  stream(): Readable {
    if (this.#reading) passing(this.#stream, this.#reading);
    return this.#stream;
  }

  observe(reading: BodyObserver): void {
    this.#reading = reading;
  }
}

/** The body of a request for an upgrade. Its end is unknown, so it cannot be read. */
export const unreadableBody: BytesBody = {
  kind: 'bytes',
  read: () => Promise.reject(badRequest('a request to upgrade the connection cannot have a body')),
};

export const tooLarge = (limit: number): Error => entityTooLarge(`limit is ${limit}`);

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

export const endedEarly = (cause: unknown): Error => badRequest('the body of the request ended early', cause);

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
