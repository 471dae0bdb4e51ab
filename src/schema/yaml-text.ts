import {Document, visit, type Pair} from 'yaml';

/** YAML of an object as the field writes it: keys in order, lists not indented, lines not broken, what older readers take for something else quoted. */
export const yamlText = (object: unknown): string => {
  const document = new Document(object, {
    version: '1.1',
    customTags: tags => tags.filter(tag => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:merge'),
    aliasDuplicateObjects: false,
    sortMapEntries: (one: Pair, other: Pair) => inOrder(keyOf(one), keyOf(other)),
  });
  visit(document, {
    Scalar(_, node) {
      // Bare, it would merge what stands below it.
      if (node.value === '<<') node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({lineWidth: 0, indentSeq: false});
};

const keyOf = ({key}: Pair): string => String((key as {value?: unknown}).value ?? key);

const letter = /\p{L}/u;
const digits = /\d*/y;

const numberAt = (text: string, at: number): string => {
  digits.lastIndex = at;
  return digits.exec(text)![0];
};

/** Whether a digit other than zero stands before, so that a zero is within a number. */
const isWithinNumber = (text: string, at: number): boolean => /[1-9]\d*$/.test(text.slice(0, at));

/** As people order names: numbers in them by their size, signs before letters. */
const inOrder = (one: string, other: string): number => {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  if (at === one.length || at === other.length) return one.length - other.length;
  const [a, b] = [one[at]!, other[at]!];
  const isLetter = [letter.test(a), letter.test(b)];
  if (isLetter[0] && isLetter[1]) return a < b ? -1 : 1;
  if (isLetter[0] || isLetter[1]) return isLetter[1] ? -1 : 1;
  const lead = (a === '0' || b === '0') && isWithinNumber(one, at) ? '1' : '';
  const [an, bn] = [numberAt(one, at), numberAt(other, at)];
  const difference = BigInt(lead + an) - BigInt(lead + bn);
  return difference === 0n ? an.length - bn.length || (a < b ? -1 : 1) : difference < 0n ? -1 : 1;
};
