// The wire format of protobuf, writing. Buffers are reused between messages.

const view = new DataView(new ArrayBuffer(8));

/** Longer texts are written by the platform; shorter ones are faster one character at a time. */
const longText = 48;
const smallest = 8192;
/** Larger buffers are not reused for the next message. */
const largestKept = 1 << 20;

let spare: Buffer | undefined;

/**
 * Writes messages back to front, so that lengths are known when they are written. Callers write fields, list items and
 * map entries last to first.
 */
export class WireWriter {
  #buffer: Buffer;
  /** The offset at which the written bytes begin. */
  #at: number;

  constructor() {
    this.#buffer = spare ?? Buffer.allocUnsafeSlow(smallest);
    spare = undefined;
    this.#at = this.#buffer.length;
  }

  /** The number of bytes written so far. */
  get written(): number {
    return this.#buffer.length - this.#at;
  }

  /** Returns all written bytes. The writer must not be used afterwards. */
  finish(): Buffer {
    const result = Buffer.from(this.#buffer.subarray(this.#at));
    if (this.#buffer.length <= largestKept) spare = this.#buffer;
    return result;
  }

  tag(number: number, wire: number): void {
    this.varint((number << 3) | wire);
  }

  /** Writes an integer; a negative one takes ten bytes, as the format requires. */
  varint(value: number | bigint): void {
    this.#reserve(10);
    if (typeof value === 'bigint') return this.#varint(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
    if (value >= 0 && value < 0x80) this.#buffer[--this.#at] = value;
    else this.#varint(value >>> 0, Math.floor(value / 2 ** 32) >>> 0);
  }

  #varint(lower: number, upper: number): void {
    let [low, high] = [lower, upper];
    let size = 1;
    for (let rest = low, above = high; above > 0 || rest > 0x7f; size++) {
      rest = ((rest >>> 7) | (above << 25)) >>> 0;
      above >>>= 7;
    }
    this.#at -= size;
    for (let index = this.#at; ; index++) {
      const isLast = index === this.#at + size - 1;
      this.#buffer[index] = (low & 0x7f) | (isLast ? 0 : 0x80);
      if (isLast) return;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
  }

  float64(value: number): void {
    this.#reserve(8);
    view.setFloat64(0, value, true);
    for (let index = 7; index >= 0; index--) this.#buffer[--this.#at] = view.getUint8(index);
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  /** Writes a text with its tag and length. */
  text(number: number, text: string): void {
    const before = this.written;
    this.#characters(text);
    this.close(number, before);
  }

  /** Writes the tag and length of everything written since `before`. */
  close(number: number, before: number): void {
    this.varint(this.written - before);
    this.tag(number, 2);
  }

  #characters(text: string): void {
    if (text.length < longText) {
      this.#reserve(text.length);
      let at = this.#at;
      let index = text.length - 1;
      for (; index >= 0; index--) {
        const code = text.charCodeAt(index);
        if (code > 0x7f) break;
        this.#buffer[--at] = code;
      }
      if (index < 0) {
        this.#at = at;
        return;
      }
    }
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#buffer.write(text, this.#at, size, 'utf8');
  }

  #reserve(size: number): void {
    if (size <= this.#at) return;
    const {written} = this;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, written + size));
    this.#buffer.copy(larger, larger.length - written, this.#at);
    this.#buffer = larger;
    this.#at = larger.length - written;
  }
}
