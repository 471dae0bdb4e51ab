import {isJson, isPlain, NotJson} from './json-value.js';
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
  /** Whether values that are not JSON as they are are refused, instead of written as `JSON.stringify` does. */
  readonly isStrict: boolean;
  /** The bytes that were cut off so far. */
  bytes = 0;
  /** The values that are being written, to find those that contain themselves. */
  readonly open = new Set<object>();

  constructor(isStrict = false) {
    this.isStrict = isStrict;
  }

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

/** Throws `NotJson` for a value that is not written in one go and is no object or list of JSON. */
const refuseOdd = (value: object, open: ReadonlySet<object>): void => {
  if (open.has(value) || !(Array.isArray(value) || isPlain(value))) throw new NotJson('an object is not JSON as it is');
};

/** `heavy` holds those values of which it is known that they are not encoded in one go. */
const write = function* (value: unknown, pieces: Pieces, heavy: Set<object>): Steps<void> {
  if (
    typeof value !== 'object' ||
    value === null ||
    'toJSON' in value ||
    (!heavy.has(value) && weightLeft(value, weightAtOnce, heavy) >= 0)
  ) {
    if (pieces.isStrict && !isJson(value)) throw new NotJson('a value is not JSON as it is');
    pieces.add(jsonText(value) ?? 'null');
    if (!pieces.isFull) return;
    pieces.cut();
    return yield;
  }
  yield;
  let isFirst = true;
  if (pieces.isStrict) refuseOdd(value, pieces.open);
  pieces.open.add(value);
  if (Array.isArray(value)) {
    for (const item of value) {
      pieces.add(isFirst ? '[' : ',');
      isFirst = false;
      yield* write(item, pieces, heavy);
    }
    pieces.open.delete(value);
    return pieces.add(isFirst ? '[]' : ']');
  }
  const keys = Object.keys(value);
  yield;
  for (const key of keys) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined || (!pieces.isStrict && isLeftOut(item))) continue;
    pieces.add(`${isFirst ? '{' : ','}${JSON.stringify(key)}:`);
    isFirst = false;
    yield* write(item, pieces, heavy);
  }
  pieces.open.delete(value);
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
 * much of it is written. Throws `NotJson` for one that is not JSON as it is (`jsonCopy`).
 */
export const encodedWithin = function* (value: unknown, limit: number, heavy: ReadonlySet<object> = new Set()): Steps<Buffer | undefined> {
  const pieces = new Pieces(true);
  const work = write(value, pieces, new Set(heavy));
  while (!work.next().done) {
    if (pieces.bytes > limit) return undefined;
    yield;
  }
  const bytes = pieces.whole();
  return bytes.length > limit ? undefined : bytes;
};
