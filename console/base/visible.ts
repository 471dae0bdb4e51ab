// Texts of objects and logs come from anybody. What is not seen in them, or changes the order in which the rest is
// seen, would make them say something else than they do.

/** Signs of control besides the tab and the end of a line, of the direction of text, and of no width; tags. */
const hidden = String.raw`[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]`;
const one = new RegExp(hidden, 'u');
const all = new RegExp(hidden, 'gu');

const escaped = (sign: string): string => {
  const code = sign.codePointAt(0)!.toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
};

/** Whether a text has signs that are not seen. */
export const hasHidden = (text: string): boolean => one.test(text);

/** Returns a text with the signs that are not seen written as YAML writes them: `\u202e`. */
export const visible = (text: string): string => (hasHidden(text) ? text.replace(all, escaped) : text);
