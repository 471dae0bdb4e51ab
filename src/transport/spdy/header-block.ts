import {constants, createInflate, type Inflate} from 'node:zlib';
import {headerDictionary} from './dictionary.js';

/** Headers of a stream: names in lower case, each with its values. */
export type SpdyHeaders = Readonly<Record<string, readonly string[]>>;

/** What a peer may send as one block of headers, unpacked. */
const maxBlockBytes = 64 << 10;

/** What of a stream of zlib stands before the first block: 32 KiB window, a dictionary, and which. */
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

const longestStored = 0xffff;

/** A stored block of nothing, with which squeezers end what is to be read at once: readers that look ahead would wait for more, or take the end for an error. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Packs blocks of headers. They are stored, not squeezed: that is as good a stream of zlib, takes no state and no waiting, and the few headers of a stream are not worth more.
 */
export const headerPacker = (): ((headers: SpdyHeaders) => Buffer) => {
  let isFirst = true;
  return headers => {
    const block = packed(headers);
    const parts: Buffer[] = isFirst ? [preamble()] : [];
    isFirst = false;
    for (let at = 0; at < block.length; at += longestStored) {
      const piece = block.subarray(at, at + longestStored);
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
  return Buffer.concat([number(entries.length), ...entries.flatMap(([name, values]) => [...text(name.toLowerCase()), ...text(values.join('\0'))])]);
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

/** Unpacks the blocks of headers of one peer, each in its turn: a block leans on those before it. */
export class HeaderUnpacker implements Disposable {
  readonly #inflate: Inflate;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #fail: ((error: Error) => void) | undefined;

  constructor() {
    this.#inflate = createInflate({dictionary: headerDictionary, flush: constants.Z_SYNC_FLUSH});
    this.#inflate.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > maxBlockBytes) this.#reject(new Error('a block of headers is too large'));
      else this.#chunks.push(chunk);
    });
    this.#inflate.on('error', error => this.#reject(error));
  }

  /** Rejects when a block is none, or too large. */
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
