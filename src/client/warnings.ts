/**
 * Returns the texts of `Warning` headers (RFC 7234 §5.5), which are joined by commas: `299 - "text"`, with quotes and
 * backslashes escaped. What is malformed ends the list.
 */
export const warningTexts = (header: string): string[] => {
  const texts: string[] = [];
  for (let at = header.indexOf('"'); at !== -1; at = header.indexOf('"', at)) {
    let text = '';
    for (at++; at < header.length && header[at] !== '"'; at++) text += header[at] === '\\' ? (header[++at] ?? '') : header[at];
    if (at >= header.length) break;
    texts.push(text);
    at = afterDate(header, at + 1);
  }
  return texts;
};

/** Where a warning ends: a quoted date may follow its text. */
const afterDate = (header: string, at: number): number => {
  if (!header.startsWith(' "', at)) return at;
  const end = header.indexOf('"', at + 2);
  return end === -1 ? header.length : end + 1;
};
