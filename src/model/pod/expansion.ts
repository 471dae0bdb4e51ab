// References `$(NAME)` in the environment, commands and sub-paths of containers.

/**
 * The length of all values up to which they are expanded: references to references could grow without end, and Linux
 * starts no program with more.
 */
export const longestValues = 2 << 20;

/** Replaces the references `$(NAME)` in a text; undefined if one of them is unknown. `$$` stands for a dollar. */
export const expand = (text: string, valueOf: (name: string) => string | undefined): string | undefined => {
  let isKnown = true;
  const result = expanded(text, name => {
    const value = valueOf(name);
    if (value === undefined) isKnown = false;
    return value ?? '';
  });
  return isKnown ? result : undefined;
};

/** Replaces `$$` and references, in one pass however many references are not closed. */
const expanded = (text: string, replacement: (name: string) => string): string => {
  const lastClosing = text.lastIndexOf(')');
  let result = '';
  let from = 0;
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', at)) {
    const isReference = text[at + 1] === '(' && at < lastClosing;
    if (!isReference && text[at + 1] !== '$') {
      at += 1;
      continue;
    }
    const end = isReference ? text.indexOf(')', at) : at + 1;
    result += text.slice(from, at) + (isReference ? replacement(text.slice(at + 2, end)) : '$');
    from = at = end + 1;
    if (result.length > longestValues) return result;
  }
  return result + text.slice(from);
};

/** Replaces the references `$(NAME)` with known values; the others stay. `$$` stands for a dollar. */
export const expandKnown = (text: string, valueOf: (name: string) => string | undefined): string =>
  expanded(text, name => valueOf(name) ?? `$(${name})`);
