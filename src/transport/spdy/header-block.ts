import {constants, createInflate, type Inflate} from 'node:zlib';
import {headerDictionary} from './dictionary.js';
import {confineErrors} from '#src/base/emitters/confined.js';

/** The headers of a stream: names in lower case, each with its values. */
export type SpdyHeaders = Readonly<Record<string, readonly string[]>>;

/** The limit of a decompressed header block. */
const maxBlockBytes = 64 << 10;

/** The beginning of a zlib stream before the first block: 32 KiB window, and the dictionary's checksum. */
const preamble = (): Buffer => {
  const bytes = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
  bytes.writeUInt32BE(adler32(headerDictionary), 2);
  return bytes;
};

const adler32 = (bytes: Buffer): number => {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
};

const maxStoredBytes = 0xffff;

/**
 * An empty stored block, as compressors emit on flush: without it readers would wait for more data, or report a
 * truncated stream.
 */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Encodes header blocks. They are stored uncompressed, which is valid zlib, needs no state and no asynchronous code,
 * and costs little for a stream's few headers.
 */
export const headerPacker = (): ((headers: SpdyHeaders) => Buffer) => {
  let isFirst = true;
  return headers => {
    const block = packed(headers);
    const parts: Buffer[] = isFirst ? [preamble()] : [];
    isFirst = false;
    for (let at = 0; at < block.length; at += maxStoredBytes) {
      const piece = block.subarray(at, at + maxStoredBytes);
      const start = Buffer.alloc(5);
      start.writeUInt16LE(piece.length, 1);
      start.writeUInt16LE(~piece.length & 0xffff, 3);
      parts.push(start, piece);
    }
    return Buffer.concat([...parts, flush]);
  };
};

const packed = (headers: SpdyHeaders): Buffer => {
  const entries = Object.entries(headers);
  return Buffer.concat([
    number(entries.length),
    ...entries.flatMap(([name, values]) => [...text(name.toLowerCase()), ...text(values.join('\0'))]),
  ]);
};

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const text = (value: string): [Buffer, Buffer] => {
  const bytes = Buffer.from(value);
  return [number(bytes.length), bytes];
};

/** Decompresses the header blocks of one peer in order, since each depends on those before. */
export class HeaderUnpacker implements Disposable {
  readonly #inflate: Inflate;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #fail: ((error: Error) => void) | undefined;

  constructor() {
    this.#inflate = confineErrors(createInflate({dictionary: headerDictionary, flush: constants.Z_SYNC_FLUSH}));
    this.#inflate.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > maxBlockBytes) this.#reject(new Error('a block of headers is too large'));
      else this.#chunks.push(chunk);
    });
    this.#inflate.on('error', error => this.#reject(error));
  }

  /** Rejects when a block is malformed or too large. */
  unpack(block: Buffer): Promise<SpdyHeaders> {
    this.#chunks = [];
    this.#bytes = 0;
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#inflate.write(block, error => {
        if (error) return reject(error);
        try {
          resolve(unpacked(Buffer.concat(this.#chunks)));
        } catch (cause) {
          reject(cause as Error);
        }
      });
    });
  }

  [Symbol.dispose](): void {
    this.#inflate.destroy();
  }

  #reject(error: Error): void {
    this.#fail?.(error);
    this.#inflate.destroy();
  }
}

const unpacked = (block: Buffer): SpdyHeaders => {
  const headers = Object.create(null) as Record<string, readonly string[]>;
  let at = 0;
  const length = (): number => {
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const value = (): string => {
    const size = length();
    if (at + size > block.length) throw new Error('a block of headers ends early');
    at += size;
    return block.toString('utf8', at - size, at);
  };
  for (let left = length(); left > 0; left--) {
    const name = value();
    if (name in headers) throw new Error('a header comes twice');
    headers[name] = value().split('\0');
  }
  return headers;
};
