import {closeSync, constants, fstatSync, openSync, readSync} from 'node:fs';

/** The maximum size of a file that is read. */
const maxBytes = 64 << 10;

/** This user; undefined where users have no numbers. */
export const user = process.getuid?.();

/** Whether a file belongs to this user. */
export const isOwn = ({uid}: {readonly uid: number}): boolean => user === undefined || uid === user;

/** Returns the text of a small file of this user; undefined for anything else, a link included. */
export const readOwn = (path: string): string | undefined => {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = fstatSync(file);
    if (!found.isFile() || !isOwn(found) || found.size > maxBytes) return undefined;
    const text = Buffer.alloc(found.size);
    return text.toString('utf8', 0, readSync(file, text));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
};
