/** A file, a folder or a symbolic link of an archive. */
export interface TarEntry {
  /** Without a slash at either end. */
  readonly path: string;
  readonly mode?: number;
  readonly content?: Buffer | string;
  readonly link?: string;
  readonly isFolder?: boolean;
}

const blockBytes = 512;

const header = ({path, mode = 0o755, link, isFolder}: TarEntry, size: number): Buffer => {
  const name = isFolder ? `${path}/` : path;
  if (name.length > 100 || (link?.length ?? 0) > 100) throw new Error(`${name} is too long for an archive`);
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number) => block.write(value.toString(8).padStart(length - 1, '0'), at);
  block.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write('        ', 148);
  block.write(isFolder ? '5' : link === undefined ? '0' : '2', 156);
  block.write(link ?? '', 157);
  block.write('ustar\x0000', 257);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
};

/** Returns an archive (POSIX ustar), which depends on its entries alone. */
export const tar = (entries: readonly TarEntry[]): Buffer => {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '');
    parts.push(header(entry, content.length), content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
};
