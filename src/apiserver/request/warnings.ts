/** All warnings of a response together may be so long, in characters; beyond that each is cut. */
const totalLimit = 4096;
const singleLimit = 256;

/**
 * The texts of the warnings of one request, in order, each once. Keeps no more than its answer could carry, however many there are: a body can give
 * cause for a million.
 */
export class Warnings extends Set<string> {
  override add(text: string): this {
    // What is longer than all headers together is cut there anyway.
    return this.size > totalLimit ? this : super.add(text.slice(0, 2 * totalLimit + 1));
  }
}

const controlCharacter = /\p{Cc}/u;

const quoted = (text: string): string => `299 - "${text.replaceAll(/[\\"]/g, match => `\\${match}`)}"`;

/** The values of the `Warning` headers for texts, each text once (RFC 7234 §5.5, code 299). A text that no header can carry is left out, the one that is one too many is not. */
export const warningHeaders = (texts: ReadonlySet<string>): string[] => {
  const all = [...texts].filter(text => text !== '' && !controlCharacter.test(text)).map(text => [...text]);
  const total = all.reduce((sum, text) => sum + text.length, 0);
  if (total <= totalLimit) return all.map(text => quoted(text.join('')));
  let left = totalLimit;
  const kept: string[] = [];
  for (const text of all) {
    const cut = text.slice(0, singleLimit);
    kept.push(quoted(cut.join('')));
    if ((left -= cut.length) <= 0) break;
  }
  return kept;
};
