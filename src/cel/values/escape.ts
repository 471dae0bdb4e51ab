import {reservedWords as reserved} from '#src/schema/reserved-words.js';

const writeable = /^[A-Za-z_./-][A-Za-z0-9_./-]*$/;
const special = /__|[-./]/g;
const words: Readonly<Record<string, string>> = {__: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash'};
const marks = new Map(Object.entries(words).map(([mark, word]) => [word, mark]));

export const isReserved = (name: string): boolean => reserved.has(name);

/**
 * Returns a field name as expressions write it: `a-b` becomes `a__dash__b`. Undefined where the name cannot be escaped.
 */
export const escaped = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`;
  return writeable.test(name) ? name.replace(special, mark => `__${words[mark]}__`) : undefined;
};

const sequence = /__([^_]+)__/g;

/** Returns the field name for an escaped name, or undefined where the escape is invalid. */
export const unescaped = (name: string): string | undefined => {
  if (!name.includes('__')) return name;
  let isWritten = true;
  const plain = name.replace(sequence, (whole, word: string) => {
    const mark = marks.get(word);
    if (mark !== undefined) return mark;
    isWritten &&= reserved.has(word) && whole.length === name.length;
    return word;
  });
  return isWritten ? plain : undefined;
};
