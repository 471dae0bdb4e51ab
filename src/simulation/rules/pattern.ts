/** A pattern of a rule. */
export interface Pattern {
  test(text: string): boolean;
}

/**
 * Returns a pattern in which `*` matches anything. Each literal part is searched after the previous one, in one pass
 * however many parts there are: annotations of pods contain patterns.
 */
export const patternOf = (glob: string): Pattern => {
  const [first = '', ...parts] = glob.split('*');
  const last = parts.pop();
  if (last === undefined) return {test: text => text === first};
  return {
    test(text) {
      const end = text.length - last.length;
      if (!text.startsWith(first) || end < first.length || !text.endsWith(last)) return false;
      let at = first.length;
      for (const part of parts) {
        const found = text.indexOf(part, at);
        if (found < 0) return false;
        at = found + part.length;
      }
      return at <= end;
    },
  };
};
