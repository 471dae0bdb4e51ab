/** Blocks are multiples of this size, so that a page fits where one of about its size was. */
const unitBytes = 64 << 10;

/** How many blocks are left for later lists, until garbage is collected. */
const maxSpare = 16;

const spare: WeakRef<Buffer>[] = [];

const spareOf = (bytes: number): Buffer | undefined => {
  for (let at = spare.length - 1; at >= 0; at--) {
    const block = spare[at]!.deref();
    if (block && block.length < bytes) continue;
    spare.splice(at, 1);
    if (block) return block;
  }
  return undefined;
};

const leave = (block: Buffer): void => {
  if (spare.length === maxSpare) spare.shift();
  spare.push(new WeakRef(block));
};

/**
 * The memory of the pages of one list: a page is written to where an earlier one was, once that was sent. Without it a
 * list of 20 MB would leave as much garbage outside the heap, for which the engine collects all of the heap.
 */
export class PageMemory {
  readonly #lent = new Set<ArrayBufferLike>();
  #free: Buffer[] = [];
  #isClosed = false;

  /** Returns a block of at least so many bytes, of any content. */
  take(bytes: number): Buffer {
    let block = this.#free.pop();
    if (!block || block.length < bytes) block = spareOf(bytes) ?? Buffer.allocUnsafeSlow(Math.ceil((bytes + 1) / unitBytes) * unitBytes);
    this.#lent.add(block.buffer);
    return block;
  }

  /** Takes back the block that a page is in; does nothing for another page. */
  reuse({buffer}: Buffer): void {
    if (!this.#lent.delete(buffer)) return;
    const block = Buffer.from(buffer as ArrayBuffer);
    if (this.#isClosed) leave(block);
    else this.#free.push(block);
  }

  /** Leaves what is not in use, and what is taken back later, to other lists. */
  close(): void {
    this.#isClosed = true;
    for (const block of this.#free.splice(0)) leave(block);
  }
}
