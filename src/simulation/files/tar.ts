import type {Readable} from 'node:stream';
import type {StoredFile} from './files.js';

const blockBytes = 512;
/** The maximum size of an extended header. */
const maxHeaderBytes = 64 << 10;

/** An entry of an archive; directories have no file. */
export interface TarEntry {
  readonly path: string;
  readonly file?: StoredFile;
}

/** Thrown for an archive that cannot be read. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Reads a stream in blocks of given sizes. */
class BlockReader {
  readonly #source: AsyncIterator<Buffer>;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(source: Readable) {
    this.#source = (source as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /** Returns fewer bytes at the end of the stream. */
  async take(length: number): Promise<Buffer> {
    const pieces: Buffer[] = [this.#buffered];
    let have = this.#buffered.length;
    while (have < length) {
      const {value, done} = await this.#source.next();
      if (done) break;
      pieces.push(value);
      have += value.length;
    }
    const all = pieces.length === 1 ? this.#buffered : Buffer.concat(pieces);
    this.#buffered = all.subarray(length);
    return all.subarray(0, length);
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; left -= maxHeaderBytes) await this.take(Math.min(left, maxHeaderBytes));
  }
}

const padded = (length: number): number => Math.ceil(length / blockBytes) * blockBytes;

const textIn = (block: Buffer, from: number, length: number): string => {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString();
};

const numberIn = (block: Buffer, from: number, length: number): number => {
  const text = textIn(block, from, length).trim();
  if (!/^[0-7]*$/.test(text)) throw new TarError('This does not look like a tar archive');
  return text === '' ? 0 : Number.parseInt(text, 8);
};

const checksum = (block: Buffer): number => {
  let sum = 8 * 32;
  for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += block[at]!;
  return sum;
};

/** Parses the records of an extended header: `length key=value`. */
const recordsIn = (bytes: Buffer): Map<string, string> =>
  new Map(
    bytes
      .toString()
      .split('\n')
      .flatMap(line => {
        const [, key, value = ''] = /^\d+ ([^=]+)=([^]*)$/.exec(line) ?? [];
        return key === undefined ? [] : [[key, value] as const];
      }),
  );

/**
 * Yields the files and directories of an archive in order; other entries are skipped. `checkSpace` is called before the
 * content of a file is read. Throws a `TarError` for an invalid archive, and what `checkSpace` throws.
 */
export async function* readTar(source: Readable, checkSpace: (bytes: number) => void): AsyncGenerator<TarEntry, void, undefined> {
  const blocks = new BlockReader(source);
  let extended = new Map<string, string>();
  for (;;) {
    const block = await blocks.take(blockBytes);
    if (block.every(byte => byte === 0)) return;
    if (block.length < blockBytes) throw new TarError('Unexpected EOF in archive');
    if (numberIn(block, 148, 8) !== checksum(block)) throw new TarError('This does not look like a tar archive');
    const type = String.fromCharCode(block[156]!);
    const size = numberIn(block, 124, 12);
    if (type === 'x' || type === 'g' || type === 'L') {
      if (size > maxHeaderBytes) throw new TarError('Malformed extended header');
      const bytes = (await blocks.take(padded(size))).subarray(0, size);
      if (type === 'x') extended = recordsIn(bytes);
      else if (type === 'L') extended = new Map([['path', textIn(bytes, 0, size)]]);
      continue;
    }
    const prefix = textIn(block, 345, 155);
    const path = extended.get('path') ?? (prefix ? `${prefix}/${textIn(block, 0, 100)}` : textIn(block, 0, 100));
    const length = Number(extended.get('size') ?? size);
    extended = new Map();
    if (type === '5') yield {path};
    else if (type === '0' || type === '\0' || type === '7') {
      checkSpace(length);
      const content = Buffer.from((await blocks.take(padded(length))).subarray(0, length));
      if (content.length < length) throw new TarError('Unexpected EOF in archive');
      yield {path, file: {content, mode: numberIn(block, 100, 8) & 0o7777, modifiedAt: numberIn(block, 136, 12) * 1000}};
    } else await blocks.skip(padded(length));
  }
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

const header = (
  path: string,
  type: string,
  {size, mode, modifiedAt}: {readonly size: number; readonly mode: number; readonly modifiedAt: number},
): Buffer => {
  const block = Buffer.alloc(blockBytes);
  block.write(path, 0, 100);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(Math.max(0, Math.floor(modifiedAt / 1000)), 12), 136);
  block.write(type, 156);
  block.write('ustar\x0000', 257);
  block.write(octal(checksum(block), 7), 148);
  block.write(' ', 155);
  return block;
};

const padding = (length: number): Buffer => Buffer.alloc(padded(length) - length);

/** Formats a record of an extended header, which begins with its own length. */
const record = (key: string, value: string): Buffer => {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length++;
  return Buffer.from(`${length} ${key}=${value}\n`);
};

/** Yields an archive of files and directories, in chunks. */
export function* writeTar(entries: Iterable<TarEntry>): Iterable<Buffer> {
  for (const {path, file} of entries) {
    const {content = Buffer.alloc(0), mode = 0o755, modifiedAt = 0} = file ?? {};
    if (Buffer.byteLength(path) > 100) {
      const long = record('path', path);
      yield Buffer.concat([header('PaxHeader', 'x', {size: long.length, mode: 0o644, modifiedAt}), long, padding(long.length)]);
    }
    yield header(path, file ? '0' : '5', {size: content.length, mode, modifiedAt});
    if (content.length > 0) yield Buffer.concat([content, padding(content.length)]);
  }
  yield Buffer.alloc(2 * blockBytes);
}
