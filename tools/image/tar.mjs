// Writes tar archives (ustar), the same for the same entries.

const block = 512;

/** Splits a path into the two fields of a header. */
const splitPath = path => {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  const at = [...path.matchAll(/\/(?=.)/g)].map(({index}) => index).find(index => path.length - index - 1 <= 100);
  if (at === undefined || at > 155 || Buffer.byteLength(path) !== path.length)
    throw new Error(`the path is too long for an archive: ${path}`);
  return [path.slice(0, at), path.slice(at + 1)];
};

const types = {file: '0', link: '2', directory: '5'};

const headerOf = ({path, type, mode, uid = 0, gid = 0, target = ''}, size, seconds) => {
  const header = Buffer.alloc(block);
  const octal = (value, at, length) => header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  const [prefix, name] = splitPath(path);
  header.write(name, 0);
  octal(mode, 100, 8);
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  header.write(' '.repeat(8), 148);
  header.write(types[type], 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257, 'latin1');
  header.write(prefix, 345);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  );
  return header;
};

/**
 * Returns an archive of entries `{path, type, mode, uid, gid, content, target}`, whose type is file, directory (with a
 * path that ends in a slash) or link, all of them changed at a time in seconds.
 */
export const tarOf = (entries, seconds) =>
  Buffer.concat([
    ...entries.flatMap(entry => {
      const content = entry.type === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
      return [headerOf(entry, content.length, seconds), content, Buffer.alloc((block - (content.length % block)) % block)];
    }),
    Buffer.alloc(2 * block),
  ]);
