/** A PEM block (RFC 7468; headers of RFC 1421 are accepted). */
export interface PemBlock {
  readonly label: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

const begin = '-----BEGIN ';
const end = '\n-----END ';
const dashes = '-----';

const isBase64 = (text: string): boolean => text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ''));

const endOfLine = (text: string, from: number): number => {
  const newline = text.indexOf('\n', from);
  return newline < 0 ? text.length : newline;
};

/** Parses the block between a BEGIN and an END line; undefined if it is invalid. */
const blockBetween = (text: string, beginAt: number, endAt: number): PemBlock | undefined => {
  const labelEnd = endOfLine(text, beginAt);
  const beginLine = text.slice(beginAt + begin.length, labelEnd).trimEnd();
  if (!beginLine.endsWith(dashes)) return undefined;
  const label = beginLine.slice(0, -dashes.length);

  const endLine = text.slice(endAt + end.length, endOfLine(text, endAt + end.length));
  if (endLine.trimEnd() !== label + dashes) return undefined;

  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  let at = labelEnd + 1;
  for (; at <= endAt; at = endOfLine(text, at) + 1) {
    const line = text.slice(at, endOfLine(text, at));
    const colon = line.indexOf(':');
    if (colon < 0) break;
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  if (at > endAt && Object.keys(headers).length > 0) return undefined;
  const body = text.slice(at, Math.max(at, endAt)).replaceAll(/[ \t\r\n]/g, '');
  return isBase64(body) ? {label, headers, bytes: Buffer.from(body, 'base64')} : undefined;
};

/**
 * Yields the PEM blocks of `input` in order. Other text and invalid blocks (labels that differ, invalid base64, an END
 * without a BEGIN) are skipped. If several BEGIN lines precede an END line, the last one applies.
 */
export function* pemBlocks(input: Buffer | string): Generator<PemBlock, void> {
  // latin1 maps every byte to one character, so that offsets are correct for any input.
  const text = typeof input === 'string' ? input : input.toString('latin1');
  for (let from = 0, endAt: number; (endAt = text.indexOf(end, from)) >= 0;) {
    const beginAt = from + text.slice(from, endAt).lastIndexOf(begin);
    const startsLine = beginAt === 0 || text[beginAt - 1] === '\n';
    const block = beginAt >= from && startsLine ? blockBetween(text, beginAt, endAt) : undefined;
    from = block ? endOfLine(text, endAt + end.length) : endAt + end.length;
    if (block) yield block;
  }
}

/** Returns the first PEM block, or undefined. */
export const firstPemBlock = (input: Buffer | string): PemBlock | undefined => pemBlocks(input).next().value ?? undefined;

/** Returns a PEM block without headers, in lines of 64 characters, with a trailing newline. */
export const toPem = (label: string, bytes: Buffer): string => {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`${begin}${label}${dashes}`, ...lines, `-----END ${label}${dashes}`, ''].join('\n');
};
