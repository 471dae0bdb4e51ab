// Names of the domain name system. They are kept as on the wire, where any byte may stand in a label: as text, with
// dots between labels, two different names could become one.

/**
 * A name as on the wire, without compression: each label with its length before it, and an empty one at the end. One
 * character is one byte. Letters may have either case.
 */
export type WireName = string;

export const rootName: WireName = '\0';

/** A name has at most so many bytes. */
const maxNameBytes = 255;
const maxLabelBytes = 63;

const capitals = /[A-Z]+/g;

/** Names are compared without case, which only letters of ASCII have. Lengths of labels are no letters. */
export const lowerCase = (text: string): string => text.replaceAll(capitals, letters => letters.toLowerCase());

/** The labels of a name, in order, without the root's. */
export const labelsOf = (name: WireName): string[] => {
  const labels: string[] = [];
  for (let at = 0, length = name.charCodeAt(0); length > 0; at += length + 1, length = name.charCodeAt(at))
    labels.push(name.slice(at + 1, at + 1 + length));
  return labels;
};

/** The name of labels that are known to be neither empty nor too long. */
export const nameOfLabels = (labels: readonly string[]): WireName =>
  `${labels.map(label => String.fromCharCode(label.length) + label).join('')}\0`;

/** Parses a name as people write it, with or without the dot at its end; undefined if it cannot be a name. */
export const parseName = (text: string): WireName | undefined => {
  const plain = text.endsWith('.') ? text.slice(0, -1) : text;
  if (plain === '') return text === '.' ? rootName : undefined;
  const labels = plain.split('.');
  if (labels.some(({length}) => length === 0 || length > maxLabelBytes) || /[^\x21-\x7e]/.test(plain)) return undefined;
  const name = nameOfLabels(labels);
  return name.length > maxNameBytes ? undefined : name;
};

/** A name for people: with dots, and with a backslash before what would be read as something else. */
export const nameText = (name: WireName): string =>
  `${labelsOf(name)
    .map(label =>
      label.replaceAll(/[^\x21-\x7e]|[.\\"]/g, each =>
        /[.\\"]/.test(each) ? `\\${each}` : `\\${String(each.charCodeAt(0)).padStart(3, '0')}`,
      ),
    )
    .join('.')}.`;

/** Whether a name is a zone or below it, both in lower case. */
export const isWithin = (name: WireName, zone: WireName): boolean => {
  const start = name.length - zone.length;
  if (start < 0 || !name.endsWith(zone)) return false;
  let at = 0; // The end may look like the zone and begin within a label.
  while (at < start) at += name.charCodeAt(at) + 1;
  return at === start;
};

export const limits = {nameBytes: maxNameBytes, labelBytes: maxLabelBytes} as const;
