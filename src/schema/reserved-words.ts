// Apart from the language, which is loaded on demand: validation of names needs the words alone.

/** Reserved words of CEL. Expressions write a field of such a name with two underscores on either side. */
export const reservedWords: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);
