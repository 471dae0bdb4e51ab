// Finds parts of an object in the bytes of its JSON, which is far cheaper than parsing it. The JSON was written by the
// server: without spaces, with kind, apiVersion and metadata first.

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket] = [0x7b, 0x7d, 0x5b];

/**
 * Returns the offset after the closing brace of the object around `start`, or the first offset of a string at its top
 * level for which `stopsAt` returns true.
 */
export const objectEnd = (json: Buffer, start: number, stopsAt?: (at: number) => boolean): number => {
  const {length} = json;
  let depth = 1;
  let isInText = false;
  for (let at = start; at < length; at++) {
    const byte = json[at]!;
    if (byte === quote) {
      if (!isInText && depth === 1 && stopsAt?.(at)) return at;
      isInText = !isInText;
    } else if (isInText) at += byte === backslash ? 1 : 0;
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) return at + 1;
  }
  throw new Error('an object in JSON has no end');
};

/**
 * Returns the offset of a field at the top level of the object around `start`, by its key with quotes and colon, and
 * with what its value begins with if other values do not count; undefined without the field.
 */
export const fieldAt = (json: Buffer, start: number, key: Buffer): number | undefined => {
  const isKey = (text: number): boolean => {
    const end = text + key.length;
    return json[text + 1] === key[1] && end <= json.length && key.compare(json, text, end) === 0;
  };
  const at = objectEnd(json, start, isKey);
  return json[at] === quote ? at : undefined; // What follows an object is no quote.
};

const metadataStart = Buffer.from('"metadata":{');

/** Returns the offset of the first field of an object's metadata; undefined without metadata. */
export const metadataFieldsAt = (json: Buffer): number | undefined => {
  const at = json.indexOf(metadataStart);
  return at < 0 ? undefined : at + metadataStart.length;
};

const ownersStart = Buffer.from('"managedFields":[{');
const listEnd = Buffer.from('}]');

/** Where the owners of fields are in an object's metadata. */
interface Owners {
  /** The offset of their key. */
  readonly start: number;
  /** The offset after the list. */
  readonly end: number;
}

/**
 * Returns where the owners of fields are, given an offset in the metadata before them. They make up most of the
 * metadata and are not read byte by byte: without a list in them, the first `}]` outside of a text ends them. Undefined
 * if there are none, or if they contain a bracket.
 */
export const ownersOf = (json: Buffer, fields: number): Owners | undefined => {
  const found = json.indexOf(ownersStart, fields);
  if (found === -1) return undefined;
  const start = objectEnd(json, fields, at => at === found);
  if (start !== found) return undefined; // They are of an object within this one.
  for (let at = json.indexOf(listEnd, found); at !== -1; at = json.indexOf(listEnd, at + 1)) {
    const end = at + listEnd.length;
    const next = json[end];
    // In a text, a quote that follows `}]}` or `}],` ends it, and no key follows that quote.
    const isEnd = next === comma ? isKeyStart(json, end + 1) : next === closeBrace && isValueEnd(json, end + 1);
    if (!isEnd) continue;
    const bracket = json.indexOf(openBracket, start + ownersStart.length);
    return bracket === -1 || bracket > end ? {start, end} : undefined;
  }
  return undefined;
};

/** Whether a key begins at this offset, where a value could end before it; false within a text and at its end. */
const isKeyStart = (json: Buffer, at: number): boolean => {
  const letter = json[at + 1]! | 0x20;
  return json[at] === quote && letter >= 0x61 && letter <= 0x7a;
};

/** Whether metadata that end before this offset are followed by the next field, or by the end of the object. */
const isValueEnd = (json: Buffer, at: number): boolean =>
  json[at] === comma ? isKeyStart(json, at + 1) : at === json.length - 1 && json[at] === closeBrace;

/**
 * Returns the text of an object that begins at `start` and ends with the bytes, without the owners of its fields if
 * they are found, given the offset of the first field of its metadata.
 */
export const textWithoutOwners = (json: Buffer, start: number, fields: number): string => {
  const owners = ownersOf(json, fields);
  if (!owners) return json.toString('utf8', start);
  const isLast = json[owners.end] === closeBrace;
  // One of the commas around the list goes with it.
  const from = isLast && json[owners.start - 1] === comma ? owners.start - 1 : owners.start;
  return json.toString('utf8', start, from) + json.toString('utf8', isLast ? owners.end : owners.end + 1);
};
