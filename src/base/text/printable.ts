// Texts from elsewhere on a terminal: what would move the cursor or change the order of letters is escaped.

/** Control characters, those that turn the direction of a text or are not seen, and halves of pairs. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;
const wide = /[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff01-\uff60]/u;
const without = /\p{M}/u;
const plain = /^[\u0020-\u007e]*$/;

const escaped = (character: string): string => {
  if (character === '\n') return String.raw`\n`;
  if (character === '\t') return String.raw`\t`;
  const code = character.codePointAt(0)!.toString(16);
  return code.length <= 2 ? String.raw`\x${code.padStart(2, '0')}` : String.raw`\u{${code}}`;
};

/** Returns the text on one line, with what is not printable as an escape sequence such as `\x1b`. */
export const printable = (text: string): string => (plain.test(text) ? text : text.replaceAll(unprintable, escaped));

const widthOf = (character: string): number => (without.test(character) ? 0 : wide.test(character) ? 2 : 1);

/** Returns how many columns a printable text takes, as far as its characters say. */
export const columnsOf = (text: string): number => {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
};

/** Returns a printable text that takes at most `columns` columns; one that was cut ends with an ellipsis. */
export const clipped = (text: string, columns: number): string => {
  if (text.length * 2 <= columns || columnsOf(text) <= columns) return text;
  if (columns < 1) return '';
  let [kept, width] = ['', 0];
  for (const character of text) {
    width += widthOf(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
};
