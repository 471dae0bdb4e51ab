import {existsSync, mkdirSync} from 'node:fs';
import {dirname, resolve} from 'node:path';

/**
 * Makes a folder, and those on the way to it, with mode 0700; one that is there stays as it is. Takes the place of a recursive mkdir, which in Node
 * never returns where the file system refuses to make folders at all (as in /proc).
 */
export const makeFolder = (path: string): void => {
  if (existsSync(path)) return;
  const whole = resolve(path);
  makeFolder(dirname(whole));
  try {
    mkdirSync(whole, {mode: 0o700});
  } catch (error) {
    if (!existsSync(whole)) throw error; // Somebody else made it meanwhile.
  }
};
