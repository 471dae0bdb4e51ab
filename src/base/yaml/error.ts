/** A text that is not YAML, or that has no JSON value. The message is the original's. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}

/** The error of what the original's parser does not accept. */
export const malformed = (problem: string, cause?: unknown): YamlError => new YamlError(`yaml: ${problem}`, {cause});
