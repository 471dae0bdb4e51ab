/** All warnings of a response together may be so long, in characters; beyond that each is cut. */
const totalLimit = 4096;
const singleLimit = 256;

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
