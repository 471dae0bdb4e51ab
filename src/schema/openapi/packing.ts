import {createHash} from 'node:crypto';
import {promisify} from 'node:util';
import {constants, createGzip, gunzip} from 'node:zlib';
import {yieldInTurn} from '#src/base/turn.js';

// Compresses documents as they are written, hashing and compressing across turns of the event loop.

/** A compressed document, a tenth of the size. Its hash is its ETag. */
export interface PackedDocument {
  /** The uncompressed size in bytes. */
  readonly size: number;
  /** The SHA-512 of the uncompressed document in upper-case hex. */
  readonly hash: string;
  /** The document compressed with gzip. */
  readonly packed: Buffer;
}

const unzip = promisify(gunzip);

/** The uncompressed documents that someone still holds, or will. */
const held = new WeakMap<PackedDocument, Promise<Buffer> | WeakRef<Buffer>>();

/**
 * Returns the uncompressed document, which nobody may change: all who need it at the same time share it, however many
 * they are.
 */
export const unpackDocument = (document: PackedDocument): Promise<Buffer> => {
  const there = held.get(document);
  if (there && !(there instanceof WeakRef)) return there;
  const bytes = there?.deref();
  if (bytes) return Promise.resolve(bytes);
  const unpacking = unzip(document.packed);
  held.set(document, unpacking);
  unpacking.then(
    unzipped => held.set(document, new WeakRef(unzipped)),
    () => held.delete(document),
  );
  return unpacking;
};

/** How much text is collected before it is compressed on another thread. */
const gatheredLength = 64 << 10;
/** How many bytes are hashed in one turn of the event loop. */
const hashedAtOnce = 1 << 20;

/** Returns the SHA-512 of a document in hex. */
export const hashOf = async (bytes: Buffer): Promise<string> => {
  const hash = createHash('sha512');
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    if (at > 0) await yieldInTurn();
    hash.update(bytes.subarray(at, at + hashedAtOnce));
  }
  return hash.digest('hex');
};

/** Compresses a document while it is written, so that it never exists as a whole. */
export class Packing {
  readonly #hash = createHash('sha512');
  readonly #gzip = createGzip({level: constants.Z_BEST_SPEED});
  readonly #packed: Buffer[] = [];
  #text = '';
  #size = 0;

  constructor() {
    this.#gzip.on('data', (chunk: Buffer) => this.#packed.push(chunk));
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= gatheredLength) this.#send();
  }

  end(): Promise<PackedDocument> {
    this.#send();
    return new Promise((resolve, reject) => {
      this.#gzip.once('error', reject);
      this.#gzip.once('end', () =>
        resolve({size: this.#size, hash: this.#hash.digest('hex').toUpperCase(), packed: Buffer.concat(this.#packed)}),
      );
      this.#gzip.end();
    });
  }

  /** Compresses a whole document. */
  static async whole(bytes: Buffer): Promise<PackedDocument> {
    const packing = new Packing();
    for (let at = 0; at < bytes.length; at += hashedAtOnce) {
      if (at > 0) await yieldInTurn();
      packing.#write(bytes.subarray(at, at + hashedAtOnce));
    }
    return packing.end();
  }

  #send(): void {
    this.#write(Buffer.from(this.#text));
    this.#text = '';
  }

  #write(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#size += bytes.length;
    this.#gzip.write(bytes);
  }
}
