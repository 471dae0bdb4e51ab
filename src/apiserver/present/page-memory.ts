/** Blocks are multiples of this size, so that a page fits where one of about its size was. */
const unitBytes = 64 << 10;

/**
 * The memory of the pages of one list: a page is written to where an earlier one was, once that was sent. Without it a
 * list of 20 MB would leave as much garbage outside the heap, for which the engine collects all of the heap.
 */
export class PageMemory {
  readonly #lent = new Set<ArrayBufferLike>();
  #free: Buffer[] = [];

  /** Returns a block of at least so many bytes, of any content. */
  take(bytes: number): Buffer {
    const block = this.#free.pop();
    const taken = block && block.length >= bytes ? block : Buffer.allocUnsafeSlow(Math.ceil((bytes + 1) / unitBytes) * unitBytes);
    this.#lent.add(taken.buffer);
    return taken;
  }

  /** Takes back the block that a page is in; does nothing for another page. */
  reuse({buffer}: Buffer): void {
    if (this.#lent.delete(buffer)) this.#free.push(Buffer.from(buffer as ArrayBuffer));
  }
}
