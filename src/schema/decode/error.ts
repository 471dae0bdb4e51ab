/**
 * A body that is no object of its kind. `message` is the inner text, as the field's decoder words it; whoever knows the kind and version asked
 * for puts it into a 400. `kind` is read from the body as far as it could be read.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** A body that could be read and is no object. */
export class NoObject extends DecodeError {
  /** What it is, as the field's decoder names it. */
  readonly given: string;

  constructor(message: string, given: string) {
    super(message);
    this.given = given;
  }
}

/** What strict decoding found in a body that is otherwise fine. */
export interface DecodeProblem {
  readonly kind: 'unknown' | 'duplicate' | 'yaml';
  /** The path of the field; for `yaml` the key. */
  readonly path: string;
  /** As warnings carry it, for example `unknown field "spec.x"`. */
  readonly text: string;
}

/** More problems of one body are not reported. */
export const maxProblems = 100;

/** The problems as one text, as a refusal carries it. */
export const strictDecodingText = (problems: readonly DecodeProblem[]): string => {
  const yaml = problems.filter(({kind}) => kind === 'yaml');
  const others = problems.filter(({kind}) => kind !== 'yaml');
  const first = yaml.length > 0 ? [`yaml: unmarshal errors:\n${yaml.map(({text}) => `  ${text}`).join('\n')}`] : [];
  return `strict decoding error: ${[...first, ...others.map(({text}) => text)].join(', ')}`;
};
