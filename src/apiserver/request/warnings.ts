/** The limit for all warnings of a response together, in characters; above it each is cut. */
const totalLimit = 4096;
const singleLimit = 256;

/**
 * The texts of the warnings of one request, in order, without duplicates. Keeps only as many as a response can carry,
 * since a body can cause a million.
 */
export class Warnings extends Set<string> {
  override add(text: string): this {
    // Longer texts are cut in any case.
    return this.size > totalLimit ? this : super.add(text.slice(0, 2 * totalLimit + 1));
  }
}

const controlCharacter = /\p{Cc}/u;

const quoted = (text: string): string => `299 - "${text.replaceAll(/[\\"]/g, match => `\\${match}`)}"`;

/**
 * Returns the values of the `Warning` headers (RFC 7234 §5.5, code 299), each text once. Texts that a header cannot carry are left out; the one that exceeds
 * the limit is the last.
 */
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
