import {additionalOf, type JsonSchema} from '#src/schema/json-schema.js';

// Resolves paths that a definition contains against its schema, when the definition is written. Paths of objects are
// evaluated by `json-path.ts`.

/** A path resolved in a schema, in canonical spelling, or why it cannot be resolved. */
export type FieldPath =
  | {readonly names: readonly string[]; readonly text: string; readonly schema: JsonSchema}
  | {readonly problem: string};

/** Yields dots, brackets, quoted texts and names. An unterminated quoted text yields no token: the path ends there. */
function* tokens(path: string): Generator<string, void> {
  for (let at = 0; at < path.length;) {
    const rest = path.slice(at);
    const token = rest.startsWith("'")
      ? (/^'(?:[^']*\\')*(?:[^']*[^'\\])?'/.exec(rest)?.[0] ?? rest)
      : /^(?:[.[\]]|[^.[\]]+)/.exec(rest)![0];
    yield token;
    at += token.length;
  }
}

const escapes: Readonly<Record<string, string>> = {a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\', "'": "'"};

/** Returns the text between single quotes, unescaped. */
const unquoted = (text: string): {readonly text: string; readonly bad?: string} => {
  let bad: string | undefined;
  const plain = text.replaceAll(/\\./g, escaped => {
    const meant = escapes[escaped[1]!];
    if (meant === undefined) bad ??= escaped;
    return meant ?? '';
  });
  return {text: plain, ...(bad === undefined ? {} : {bad})};
};

const nowhere = {problem: 'does not refer to a valid field'};
const early = {problem: 'unexpected end of JSON path'};

/**
 * Resolves a path such as `.spec.ports` or `.spec['a.b']` in a schema, as rules and selectable fields write it. The
 * canonical spelling has brackets for map keys and dots for properties; either is accepted.
 */
export const fieldPathIn = (root: JsonSchema, path: string, {brackets = true}: {readonly brackets?: boolean} = {}): FieldPath => {
  const names: string[] = [];
  let text = '';
  let schema: JsonSchema | undefined = root;
  const step = (name: string): {problem: string} | undefined => {
    const {properties} = schema ?? {};
    const isNamed = properties !== undefined && Object.keys(properties).length > 0;
    if (!isNamed && schema?.additionalProperties === undefined) return nowhere;
    if (isNamed && !Object.hasOwn(properties, name)) return nowhere;
    text += isNamed ? `${text === '' ? '' : '.'}${name}` : `[${name}]`;
    names.push(name);
    schema = isNamed ? properties[name] : additionalOf(schema!);
    return undefined;
  };
  const reader = tokens(path);
  for (let token = reader.next().value; token !== undefined; token = reader.next().value) {
    if (token === '.') {
      const name = reader.next().value;
      if (name === undefined) return early;
      const problem = step(name);
      if (problem) return problem;
    } else if (token === '[') {
      if (!brackets) return {problem: 'array notation is not allowed'};
      const quoted = reader.next().value;
      if (quoted === undefined) return early;
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'"))
        return {problem: `expected single quoted string but got ${quoted}`};
      const {text: name, bad} = unquoted(quoted.slice(1, -1));
      if (bad !== undefined) return {problem: `invalid string literal: invalid escape char ${bad}`};
      const problem = step(name);
      if (problem) return problem;
      const end = reader.next().value;
      if (end === undefined) return early;
      if (end !== ']') return {problem: `expected ] but got ${end}`};
    } else return {problem: `expected [ or . but got: ${token}`};
  }
  return {names, text, schema: schema ?? {}};
};
