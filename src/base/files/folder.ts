import {existsSync, mkdirSync} from 'node:fs';
import {dirname, resolve} from 'node:path';

/**
 * Creates a folder and its missing parents, by default with mode 0700; an existing one is left unchanged. Used instead
 * of a recursive mkdir, which in Node never returns on file systems that refuse to create folders (such as /proc).
 */
export const makeFolder = (path: string, mode = 0o700): void => {
  if (existsSync(path)) return;
  const whole = resolve(path);
  makeFolder(dirname(whole), mode);
  try {
    mkdirSync(whole, {mode});
  } catch (error) {
    if (!existsSync(whole)) throw error; // Created concurrently.
  }
};
