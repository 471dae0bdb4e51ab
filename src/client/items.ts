import type {CborCodec} from '#src/schema/cbor/codec.js';

/** Splits a byte stream into the items of a CBOR sequence. */
export class Items {
  readonly #codec: CborCodec;
  readonly #each: (item: unknown) => void;
  #rest: Buffer | undefined;

  constructor(codec: CborCodec, each: (item: unknown) => void) {
    this.#codec = codec;
    this.#each = each;
  }

  /** Throws for malformed CBOR. */
  push(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    while (at < bytes.length) {
      const next = this.#codec.nextItem(bytes, at);
      if (!next) break;
      this.#each(next.value);
      at = next.end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
  }

  /** Whether an item is incomplete. */
  get isPartial(): boolean {
    return this.#rest !== undefined;
  }
}
