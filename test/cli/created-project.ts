import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {runCreate} from '#src/cli/create/create.js';
import {projectNames} from '#src/cli/create/names.js';
import {operatorFiles} from '#src/cli/create/template.js';
import {parseFlags} from '#src/options/parse.js';
import {createFlags} from '#src/options/programs/create.js';
import {aDirectory} from './programs.js';

type CreateInvocation = Parameters<typeof runCreate>[0];

/**
 * Runs `plat create` in this process. Returns the lines that it prints; rejects with what it would print in one line.
 */
export const create = async (...args: readonly string[]): Promise<readonly string[]> => {
  const lines: string[] = [];
  const invocation = {parsed: parseFlags(createFlags, args), print: (line: string) => void lines.push(line)};
  await runCreate(invocation as unknown as CreateInvocation);
  return lines;
};

/** A project in a folder, as `plat create operator` writes it, and what is added to it and read of it. */
export const aProject = (name = 'backups', {group = 'example.com', kind = ''} = {}) => {
  const folder = aDirectory();
  for (const [path, text] of Object.entries(operatorFiles(projectNames(name, {group, kind}), 'file:/plat'))) {
    mkdirSync(dirname(join(folder, path)), {recursive: true});
    writeFileSync(join(folder, path), text);
  }
  return {
    folder,
    add: (...args: readonly string[]) => create(...args, `--dir=${folder}`),
    text: (path: string) => readFileSync(join(folder, path), 'utf8'),
    write: (path: string, text: string) => writeFileSync(join(folder, path), text),
  };
};
