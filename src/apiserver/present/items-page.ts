import type {PageMemory} from './page-memory.js';

/** The most bytes that a UTF-16 code unit of a text takes in UTF-8. */
const maxBytesOfUnit = 3;

/** Texts are gathered up to this length: each write costs as much as copying some kilobytes. */
const gatheredLength = 8192;

/** A page of list items, which are written one after the other. */
export class ItemsPage {
  readonly #memory: PageMemory | undefined;
  #bytes: Buffer;
  #at = 0;
  #gathered = '';

  /** `bytes` is about as many as the page takes. Without memory for its list it has its own. */
  constructor(bytes: number, memory?: PageMemory) {
    this.#memory = memory;
    this.#bytes = this.#block(bytes);
  }

  text(text: string): void {
    this.#gathered += text;
    if (this.#gathered.length > gatheredLength) this.#write();
  }

  /** Copies a part of other bytes. */
  copy(from: Buffer, start: number, end: number): void {
    this.#write();
    this.#reserve(end - start);
    this.#at += from.copy(this.#bytes, this.#at, start, end);
  }

  /** Returns the bytes that were written. The page must not be used afterwards. */
  finish(): Buffer {
    this.#write();
    return this.#bytes.subarray(0, this.#at);
  }

  #write(): void {
    const most = this.#gathered.length * maxBytesOfUnit;
    this.#reserve(this.#at + most <= this.#bytes.length ? most : Buffer.byteLength(this.#gathered));
    this.#at += this.#bytes.write(this.#gathered, this.#at);
    this.#gathered = '';
  }

  #block(bytes: number): Buffer {
    return this.#memory?.take(bytes) ?? Buffer.allocUnsafe(bytes);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const full = this.#bytes;
    this.#bytes = this.#block(2 * (full.length + bytes));
    full.copy(this.#bytes, 0, 0, this.#at);
    this.#memory?.reuse(full);
  }
}
