import type {Readable} from 'node:stream';
import type {ApiBody} from '#src/api/exchange.js';
import {badRequest, entityTooLarge} from '#src/api/status.js';

type BytesBody = Extract<ApiBody, {kind: 'bytes'}>;

/** A request body that has not been read yet. It is read at most once; a second reader gets the same bytes. */
export class UnreadBody implements BytesBody {
  readonly kind = 'bytes';
  readonly #stream: Readable;
  readonly #declared: number;
  #reading: Promise<Buffer> | undefined;

  /** `declared` is the length that was announced; NaN when none was. */
  constructor(stream: Readable, declared: number) {
    this.#stream = stream;
    this.#declared = declared;
  }

  read(limit: number): Promise<Buffer> {
    return (this.#reading ??= this.#declared > limit ? Promise.reject(tooLarge(limit)) : collect(this.#stream, limit));
  }

  stream(): Readable {
    return this.#stream;
  }
}

/** The body of a request that came with a wish to speak another protocol. Where it ends cannot be told, so it cannot be read. */
export const unreadableBody: BytesBody = {kind: 'bytes', read: () => Promise.reject(badRequest('a request to upgrade the connection cannot have a body'))};

const tooLarge = (limit: number): Error => entityTooLarge(`limit is ${limit}`);

const collect = (stream: Readable, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = () => stream.off('data', take).off('end', finish).off('error', fail).off('close', fail).off('aborted', fail);
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        settle();
        stream.pause();
        reject(tooLarge(limit));
      } else chunks.push(chunk);
    };
    const finish = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
    };
    const fail = (cause?: unknown) => {
      settle();
      reject(badRequest('the body of the request ended early', cause));
    };
    if (stream.destroyed) return fail();
    stream.on('data', take).on('end', finish).on('error', fail).on('close', fail).on('aborted', fail);
  });
