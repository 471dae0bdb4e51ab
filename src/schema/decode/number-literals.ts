/**
 * Matches numbers that JavaScript formats differently: fractions, exponents, many digits. A match within a string only
 * costs a second pass.
 */
const unusual = /[:,[]\s*-?\d+[.eE]|\d{16}/;
const token = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]]/g;

/** Returns the literals of numbers in a JSON text by field path; undefined if all have the usual form. */
export const numberLiterals = (text: string): ReadonlyMap<string, string> | undefined => {
  if (!unusual.test(text)) return undefined;
  const found = new Map<string, string>();
  const path: string[] = [];
  /** The length of the path at each open bracket. */
  const open: number[] = [];
  for (const [part, colon] of text.matchAll(token)) {
    if (part === '{' || part === '[') open.push(path.length);
    else if (part === '}' || part === ']') path.length = open.pop() ?? 0;
    else if (colon !== undefined) {
      path.length = open.at(-1) ?? 0;
      path.push(JSON.parse(part.slice(0, -colon.length)) as string);
    } else if (part[0] !== '"' && String(Number(part)) !== part && !found.has(path.join('.'))) found.set(path.join('.'), part);
  }
  return found;
};
