import {weightLeft} from './json-weight.js';
import {jsonText} from './json.js';
import {pieceBytes} from './json-steps.js';
import type {Steps} from '#src/base/steps.js';

/** A value of this weight is encoded in one go. */
const weightAtOnce = 500;

/** Gathers text, and lets others have their turn once there is enough of it. */
class Pieces {
  readonly #parts: Buffer[] = [];
  #text = '';
  /** The bytes that were cut off so far. */
  bytes = 0;

  add(text: string): void {
    this.#text += text;
  }

  get isFull(): boolean {
    return this.#text.length >= pieceBytes;
  }

  cut(): void {
    const part = Buffer.from(this.#text);
    this.#parts.push(part);
    this.bytes += part.length;
    this.#text = '';
  }

  whole(): Buffer {
    this.cut();
    return Buffer.concat(this.#parts);
  }
}

const isLeftOut = (value: unknown): boolean => value === undefined || typeof value === 'function' || typeof value === 'symbol';

/** `heavy` holds those values of which it is known that they are not encoded in one go. */
const write = function* (value: unknown, pieces: Pieces, heavy: Set<object>): Steps<void> {
  if (
    typeof value !== 'object' ||
    value === null ||
    'toJSON' in value ||
    (!heavy.has(value) && weightLeft(value, weightAtOnce, heavy) >= 0)
  ) {
    pieces.add(jsonText(value) ?? 'null');
    if (!pieces.isFull) return;
    pieces.cut();
    return yield;
  }
  yield;
  let isFirst = true;
  if (Array.isArray(value)) {
    for (const item of value) {
      pieces.add(isFirst ? '[' : ',');
      isFirst = false;
      yield* write(item, pieces, heavy);
    }
    return pieces.add(isFirst ? '[]' : ']');
  }
  const keys = Object.keys(value);
  yield;
  for (const key of keys) {
    const item = (value as Record<string, unknown>)[key];
    if (isLeftOut(item)) continue;
    pieces.add(`${isFirst ? '{' : ','}${JSON.stringify(key)}:`);
    isFirst = false;
    yield* write(item, pieces, heavy);
  }
  pieces.add(isFirst ? '{}' : '}');
};

/**
 * Encodes a value as JSON in steps of some 64 KB, so that a large one does not block the event loop. The result is that
 * of `JSON.stringify`. The value must not change meanwhile. `heavy` are values within it that were found heavy already
 * (`weightLeft`): weighing takes long, too.
 */
export const encodedInSteps = function* (value: unknown, heavy: ReadonlySet<object> = new Set()): Steps<Buffer> {
  const pieces = new Pieces();
  yield* write(value, pieces, new Set(heavy));
  return pieces.whole();
};

/**
 * Encodes a value as `encodedInSteps` does; undefined if the text would be longer than `limit` bytes, as soon as that
 * much of it is written.
 */
export const encodedWithin = function* (value: unknown, limit: number, heavy: ReadonlySet<object> = new Set()): Steps<Buffer | undefined> {
  const pieces = new Pieces();
  const work = write(value, pieces, new Set(heavy));
  while (!work.next().done) {
    if (pieces.bytes > limit) return undefined;
    yield;
  }
  const bytes = pieces.whole();
  return bytes.length > limit ? undefined : bytes;
};
