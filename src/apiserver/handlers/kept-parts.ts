import {OwnedCaches} from '#src/base/cache-bound.js';

/** The bytes of the parts of all lists together. */
class PartsBound {
  readonly maxBytes = 32 << 20;
  bytes = 0;
}

const bound = new PartsBound();
new OwnedCaches<PartsBound>('list_parts', owner => owner).add(bound);

/**
 * The encoded parts of a list whose length has to be known before the first is sent, from its beginning until the parts
 * of all lists of this process take too much memory: the rest is encoded once more when it is sent.
 */
export class KeptParts implements Disposable {
  readonly #parts: Buffer[] = [];
  #records = 0;
  #isFull = false;
  #isWhole = false;

  /** How many records the kept parts contain. */
  get records(): number {
    return this.#records;
  }

  add(part: Buffer, records: number): void {
    this.#isFull ||= bound.bytes + part.length > bound.maxBytes;
    if (this.#isFull) return;
    bound.bytes += part.length;
    this.#parts.push(part);
    this.#records += records;
  }

  /** Called after the last part of the list. */
  end(): void {
    this.#isWhole = !this.#isFull;
  }

  /** Whether all parts of the list were kept. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Returns the next part, which is no longer kept then. */
  take(): Buffer | undefined {
    const part = this.#parts.shift();
    bound.bytes -= part?.length ?? 0;
    return part;
  }

  [Symbol.dispose](): void {
    this.#isFull = true;
    while (this.take());
  }
}
