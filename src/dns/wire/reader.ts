import {limits, type WireName} from './names.js';

/**
 * Reads the parts of a message one after the other. Nothing throws: a message that ends too early, or has a name that
 * is none, makes `isIntact` false, and what is read from then on means nothing.
 */
export class Reader {
  readonly bytes: Buffer;
  at: number;
  #intact = true;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get isIntact(): boolean {
    return this.#intact;
  }

  /** Takes the message as broken from here on. */
  fail(): string {
    this.#intact = false;
    this.at = this.bytes.length;
    return '';
  }

  uint8(): number {
    const at = this.#advance(1);
    return at < 0 ? 0 : this.bytes[at]!;
  }

  uint16(): number {
    const at = this.#advance(2);
    return at < 0 ? 0 : (this.bytes[at]! << 8) | this.bytes[at + 1]!;
  }

  uint32(): number {
    const high = this.uint16();
    return high * 0x1_0000 + this.uint16();
  }

  /** Returns the next bytes as characters. */
  text(length: number): string {
    const at = this.#advance(length);
    return at < 0 ? '' : this.bytes.toString('latin1', at, at + length);
  }

  /** Returns the next name. Pointers lead only to what stands before the name or label that they end, so none loops. */
  name(): WireName {
    const {bytes} = this;
    const parts: string[] = [];
    let [at, start, size, end] = [this.at, this.at, 0, -1];
    for (;;) {
      const length = at < bytes.length ? bytes[at]! : 0xff;
      if (length <= limits.labelBytes) {
        size += length + 1;
        const next = at + length + 1;
        if (next > bytes.length || size > limits.nameBytes) return this.fail();
        at = next;
        if (length > 0) continue;
        parts.push(bytes.toString('latin1', start, at));
        this.at = end < 0 ? at : end;
        return parts.length === 1 ? parts[0]! : parts.join('');
      }
      if (length < 0xc0 || at + 2 > bytes.length) return this.fail();
      const target = ((length & 0x3f) << 8) | bytes[at + 1]!;
      if (target >= start) return this.fail();
      parts.push(bytes.toString('latin1', start, at));
      if (end < 0) end = at + 2;
      at = start = target;
    }
  }

  /** Passes over a name without following its pointers. */
  skipName(): void {
    const {bytes} = this;
    for (let at = this.at; at < bytes.length;) {
      const length = bytes[at]!;
      if (length > limits.labelBytes) {
        this.at = at;
        if (length < 0xc0) this.fail();
        else this.#advance(2);
        return;
      }
      at += length + 1;
      if (length > 0) continue;
      this.at = at;
      return;
    }
    this.fail();
  }

  #advance(length: number): number {
    const {at} = this;
    if (at + length > this.bytes.length) {
      this.fail();
      return -1;
    }
    this.at += length;
    return at;
  }
}
