import {regexp, RegexpSyntaxError} from '#src/schema/regexp.js';
import {Failure, type Value} from './values.js';

/** Returns the error of an invalid pattern as Go words it, or undefined. */
export const regexpError = (pattern: string): string | undefined => {
  try {
    regexp(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RegexpSyntaxError) return error.message;
    throw error;
  }
};

/** Returns whether the text contains a match. Runs in time linear in the text's length. */
export const matches = (text: string, pattern: string): Value => {
  const error = regexpError(pattern);
  return error === undefined ? regexp(pattern).test(text) : new Failure(error);
};

/** Returns up to `most` matches, all if negative. An empty match directly after another match is skipped. */
export const matchesIn = (text: string, pattern: string, most: number): readonly string[] => {
  const matcher = regexp(pattern).matcher(text);
  const found: string[] = [];
  for (let before = -1; found.length !== most && matcher.find(); before = matcher.end()) {
    const [start, end] = [matcher.start(), matcher.end()];
    if (start !== end || start !== before) found.push(text.slice(start, end));
  }
  return found;
};
