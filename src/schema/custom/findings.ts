import {formatDouble} from '#src/base/text/double.js';
import {jsonText} from '#src/base/json/json.js';
import {invalid, invalidText, notSupported, required, tooLong, tooMany, typeInvalid, type FieldError} from '#src/api/field-error.js';
import {moreErrors, maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {isWhole} from './numbers.js';

// Errors of validating values against schemas: deduplicated, bounded, and with the original's texts.

/** The path of errors of the whole value. */
const nowhere = '<nil>';

/**
 * The errors found in a value, each text once. `matches` counts how much of the schema matched, to choose among
 * alternatives that all fail.
 */
export class Findings {
  /** The errors by text, in order; undefined as long as there are none. */
  #errors: Map<string, FieldError> | undefined;
  #text = 0;
  #hasMore = false;
  matches = 0;

  get count(): number {
    return this.#errors?.size ?? 0;
  }

  /** Reports whether no further error would be returned. */
  get isFull(): boolean {
    return this.#hasMore || this.count >= maxErrors || this.#text >= maxErrorText;
  }

  get errors(): readonly FieldError[] {
    return [...(this.#errors?.values() ?? []), ...(this.#hasMore ? [moreErrors] : [])];
  }

  add(text: string, error: FieldError): void {
    const errors = (this.#errors ??= new Map());
    if (errors.has(text)) return;
    if (this.isFull) this.#hasMore = true;
    else {
      errors.set(text, error);
      this.#text += text.length + error.detail.length;
    }
  }

  /** Adds the errors of another instance. */
  merge(other: Findings): void {
    for (const [text, error] of other.#errors ?? []) this.add(text, error);
    this.matches += other.matches;
  }
}

/** Builds errors; `base` is the path of the whole value. */
export class Reporter {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  #path(name: string): string {
    const path = name.startsWith('.') ? name.slice(1) : name;
    return this.#base === '' ? path || nowhere : path === '' ? this.#base : `${this.#base}.${path}`;
  }

  type(name: string, wanted: string, given: string): [string, FieldError] {
    const text = `${name} in body must be of type ${wanted}: ${jsonText(given)}`;
    return [text, typeInvalid(this.#path(name), given, text)];
  }

  required(name: string): [string, FieldError] {
    return [`${name} in body is required`, required(this.#path(name))];
  }

  enum(name: string, value: unknown, allowed: readonly unknown[]): [string, FieldError] {
    const error = notSupported(
      this.#path(name),
      value,
      allowed.map(one => (typeof one === 'string' ? one : jsonText(one))),
    );
    return [`${name} in body should be one of ${jsonText(allowed)}`, error];
  }

  tooLong(name: string, limit: number): [string, FieldError] {
    return [`${name} in body should be at most ${limit} chars long`, tooLong(this.#path(name), limit)];
  }

  tooMany(name: string, count: number, limit: number, what: 'items' | 'properties'): [string, FieldError] {
    return [`${name} in body should have at most ${limit} ${what}`, tooMany(this.#path(name), count, limit)];
  }

  /** `does` follows the field's name in the text. */
  invalid(name: string, value: unknown, does: string): [string, FieldError] {
    const text = `${name} in body ${does}`;
    const path = this.#path(name);
    return [text, typeof value === 'number' && !isWhole(value) ? invalidText(path, formatDouble(value), text) : invalid(path, value, text)];
  }

  /** Returns the error of an invalid `multipleOf`. */
  badFactor(name: string, factor: number): [string, FieldError] {
    const text = `factor MultipleOf declared for ${name} must be positive: ${factor}`;
    return [text, invalid(this.#path(name), factor, text)];
  }

  /** Returns an error of the whole value, for alternatives. */
  whole(name: string, does: string): [string, FieldError] {
    const text = `${JSON.stringify(name)} ${does}`;
    return [text, invalid(this.#path(''), '', text)];
  }
}
