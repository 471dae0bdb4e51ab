const newlines = /[\r\n]/;

/**
 * Returns the offset at which the original's decoder stops (RFC 4648 §4 with padding, line breaks ignored); -1 for
 * valid data.
 */
const firstBad = (text: string): number => {
  let at = 0;
  let inQuantum = 0;
  const skip = () => {
    while (at < text.length && newlines.test(text[at] ?? '')) at += 1;
  };
  for (skip(); at < text.length; skip()) {
    const character = text[at] ?? '';
    at += 1;
    if (/[A-Za-z0-9+/]/.test(character)) {
      inQuantum = (inQuantum + 1) % 4;
      continue;
    }
    if (character !== '=' || inQuantum < 2) return at - 1;
    if (inQuantum === 2) {
      skip();
      if (at === text.length) return at;
      if (text[at] !== '=') return at - 1;
      at += 1;
    }
    skip();
    return at < text.length ? at : -1;
  }
  return inQuantum === 0 ? -1 : at - inQuantum;
};

/** Returns the canonical encoding of the same bytes, or the offset at which the data is invalid. */
export const canonicalBase64 = (text: string): string | number => {
  const clean = text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ''));
  if (clean && !text.endsWith('=')) return text;
  if (!clean) {
    const bad = firstBad(text);
    if (bad >= 0) return bad;
  }
  return Buffer.from(text, 'base64').toString('base64');
};
