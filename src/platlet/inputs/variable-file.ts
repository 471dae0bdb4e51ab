// Variables in environment files, which containers write to volumes for others. Pure.

/** Returns a line without surrounding blanks. */
const trimmed = (line: string): string => {
  let [start, end] = [0, line.length];
  while (start < end && isBlank(line[start])) start++;
  while (end > start && isBlank(line[end - 1])) end--;
  return line.slice(start, end);
};

const isBlank = (unit: string | undefined): boolean => unit === ' ' || unit === '\t';

/**
 * Returns the value of a variable in a text with lines `NAME=VALUE`; undefined if it is not defined. A backslash at the
 * end of a line joins it with the next one by a blank; empty lines and lines that begin with `#` are skipped. Throws
 * for any other line before the variable.
 */
export const variableIn = (text: string, name: string): string | undefined => {
  let joined: string | undefined;
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  for (const [index, raw] of lines.entries()) {
    const invalid = (what = ''): Error => new Error(`invalid environment variable format at line ${index + 1}${what}`);
    const line = trimmed(raw);
    if (line === '' || line.startsWith('#')) {
      if (joined !== undefined) throw invalid(`: ${line === '' ? 'blank line' : 'comment'} in continuation`);
      continue;
    }
    const whole: string = joined === undefined ? line : `${joined} ${line}`;
    if (whole.endsWith('\\')) {
      joined = trimmed(whole.slice(0, -1));
      continue;
    }
    joined = undefined;
    const equals = whole.indexOf('=');
    const found = trimmed(whole.slice(0, Math.max(0, equals)));
    if (found === '') throw invalid();
    if (found === name) return trimmed(whole.slice(equals + 1));
  }
  if (joined !== undefined) throw new Error('unexpected end of file: unfinished line continuation');
  return undefined;
};
