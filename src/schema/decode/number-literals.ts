/** Numbers that JavaScript writes otherwise than they may be written: fractions, exponents, many digits. What is in texts only costs a second look. */
const unusual = /[:,[]\s*-?\d+[.eE]|\d{16}/;
const token = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]]/g;

/** How numbers are written in a JSON text, by the names of the fields that lead to them; undefined where each is written in the one usual way. */
export const numberLiterals = (text: string): ReadonlyMap<string, string> | undefined => {
  if (!unusual.test(text)) return undefined;
  const found = new Map<string, string>();
  const path: string[] = [];
  /** For each open bracket, how long the path was before it. */
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
