import {numberBeyondRange} from '#src/base/json/number-range.js';

// Errors and warnings of decoding, with the original's texts.

/**
 * A body that is not a valid object of its kind. `message` is the original decoder's inner text; a caller that knows
 * the kind and version wraps it into a 400. `kind` is set as far as the body could be parsed.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/**
 * The error of a number beyond the range of doubles where any value may be; `text` is the JSON that it is in, if that
 * is known.
 */
export const beyondRange = (text?: string, target = 'Go value'): DecodeError =>
  new DecodeError(`json: cannot unmarshal number ${numberBeyondRange(text)} into ${target} of type float64`);

/** A body that could be parsed and is not an object. */
export class NoObject extends DecodeError {
  /** The value's type, as the original's decoder names it. */
  readonly given: string;

  constructor(message: string, given: string) {
    super(message);
    this.given = given;
  }
}

/** A problem that strict decoding found in an otherwise valid body. */
export interface DecodeProblem {
  readonly kind: 'unknown' | 'duplicate' | 'yaml';
  /** The path of the field; the key for `yaml`. */
  readonly path: string;
  /** The text of the warning, for example `unknown field "spec.x"`. */
  readonly text: string;
}

/** The limit of problems reported for one body. */
export const maxProblems = 100;

/** Returns the problems as one error text. */
export const strictDecodingText = (problems: readonly DecodeProblem[]): string => {
  const yaml = problems.filter(({kind}) => kind === 'yaml');
  const others = problems.filter(({kind}) => kind !== 'yaml');
  const first = yaml.length > 0 ? [`yaml: unmarshal errors:\n${yaml.map(({text}) => `  ${text}`).join('\n')}`] : [];
  return `strict decoding error: ${[...first, ...others.map(({text}) => text)].join(', ')}`;
};
