// Paths below a directory that must not lead out of it, with the refusals of Go's `os.Root`.

import * as fs from 'node:fs/promises';
import {join} from 'node:path';

const escapes = 'path escapes from parent';
const maxLinks = 255;

/** The texts of system calls, by code. */
const texts: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'file name too long',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
};

/** The reason for which a path is refused. */
export interface PathRefusal {
  readonly reason: string;
  /** Whether there is nothing at the path. */
  readonly isMissing: boolean;
}

const refused = (reason: string): PathRefusal => ({reason, isMissing: false});

const namesOf = (path: string): string[] => path.split('/').filter(name => name !== '' && name !== '.');

/**
 * Returns why a path is refused; undefined if it exists and stays below `root`. It must not begin with a slash, and no
 * symbolic link may be absolute.
 */
export const pathRefusal = async (root: string, path: string): Promise<PathRefusal | undefined> => {
  if (path.startsWith('/')) return refused(escapes);
  if (path.includes('\0')) return refused('invalid argument');
  const mustBeFolder = path.endsWith('/');
  const names = namesOf(path);
  const at: string[] = [];
  for (let links = 0; ;) {
    const name = names.shift();
    if (name === undefined) return undefined;
    if (name === '..') {
      if (at.pop() === undefined) return refused(escapes);
      continue;
    }
    const step = await stepTo(join(root, ...at, name));
    if (step.is === 'refused') return step.refusal;
    if (step.is === 'link') {
      if (++links > maxLinks) return refused(texts['ELOOP']!);
      if (step.target.startsWith('/')) return refused(escapes);
      names.unshift(...namesOf(step.target));
      continue;
    }
    if (step.is === 'other' && (names.length > 0 || mustBeFolder)) return refused(texts['ENOTDIR']!);
    at.push(name);
  }
};

type Step =
  | {readonly is: 'folder' | 'other'}
  | {readonly is: 'link'; readonly target: string}
  | {readonly is: 'refused'; readonly refusal: PathRefusal};

const stepTo = async (path: string): Promise<Step> => {
  try {
    const status = await fs.lstat(path);
    if (status.isSymbolicLink()) return {is: 'link', target: await fs.readlink(path)};
    return {is: status.isDirectory() ? 'folder' : 'other'};
  } catch (error) {
    const {code = '', message} = error as NodeJS.ErrnoException;
    return {is: 'refused', refusal: {reason: texts[code] ?? message, isMissing: code === 'ENOENT'}};
  }
};
