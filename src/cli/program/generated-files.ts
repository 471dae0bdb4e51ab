// The files that commands generate: written, or compared with what is there.

import {readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';

/** Where files are generated, and by which command. */
export interface Generation {
  readonly program: string;
  readonly folder: string;
  print(line: string): void;
}

/** Generated files are no secrets: what copies them into an image may run as another user. */
const readable = 0o755;

/** Writes files and prints their paths. Returns the exit code. */
export const writeGenerated = (files: readonly GeneratedFile[], {program, folder, print}: Generation): number => {
  makeFolder(folder, readable);
  for (const {name, text, note} of files) {
    const path = join(folder, name);
    makeFolder(dirname(path), readable);
    writeFileSync(path, text);
    print(path);
    if (note !== undefined) process.stderr.write(`${program}: ${note}\n`);
  }
  return 0;
};

/** Reports the files that are missing or differ. Returns the exit code. */
export const compareGenerated = (files: readonly GeneratedFile[], {program, folder}: Generation): number => {
  const problems = files.flatMap(({name, text}) => {
    const path = join(folder, name);
    const content = textIfThere(path);
    return content === text
      ? []
      : [`${path} ${content === undefined ? 'is missing' : 'is not up to date'}: run the same command without --check`];
  });
  for (const problem of problems) process.stderr.write(`${program}: ${problem}\n`);
  return problems.length > 0 ? 1 : 0;
};

/** Returns the text of a file, or undefined if there is none. */
export const textIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
