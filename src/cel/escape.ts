/** Words that no name in an expression may be. A field that is called so is written with two underscores on either side. */
const reserved: ReadonlySet<string> = new Set([
  'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while',
]);

const writeable = /^[A-Za-z_./-][A-Za-z0-9_./-]*$/;
const special = /__|[-./]/g;
const words: Readonly<Record<string, string>> = {__: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash'};
const marks = new Map(Object.entries(words).map(([mark, word]) => [word, mark]));

export const isReserved = (name: string): boolean => reserved.has(name);

/** How an expression writes a field's name: `a-b` is `a__dash__b`. Undefined where it cannot. */
export const escaped = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`;
  return writeable.test(name) ? name.replace(special, mark => `__${words[mark]}__`) : undefined;
};

const sequence = /__([^_]+)__/g;

/** The field's name that is written so, or undefined where it is no way to write one. */
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
