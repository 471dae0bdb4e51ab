import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import type {GenerateInvocation} from './invocation.js';

/** What a subcommand makes, and the folder for it if no other is named. */
interface Generator {
  readonly folder: string;
  make(invocation: GenerateInvocation, paths: readonly string[]): Promise<readonly GeneratedFile[]>;
}

const generators: Readonly<Record<string, Generator>> = {
  types: {folder: 'generated', make: async (invocation, paths) => (await import('./types.js')).generatedTypes(invocation, paths)},
  crds: {folder: 'crds', make: async (invocation, paths) => (await import('./crds.js')).generatedDefinitions(invocation, paths)},
  rbac: {folder: 'manifests', make: async (invocation, paths) => (await import('./rbac.js')).generatedRights(invocation, paths)},
};

/** `plat generate`: writes the files, or with `--check` compares them. Returns the exit code. */
export const runGenerate = async (invocation: GenerateInvocation): Promise<number> => {
  const [command, ...paths] = invocation.parsed.args;
  const {folder, make} = subcommandOf(generators, command);
  const files = await make(invocation, paths);
  const {out, check} = invocation.parsed.options;
  return check ? compared(files, out || folder) : written(files, out || folder, invocation);
};

const written = (files: readonly GeneratedFile[], folder: string, {print}: GenerateInvocation): number => {
  makeFolder(folder);
  for (const {name, text, note} of files) {
    const path = join(folder, name);
    writeFileSync(path, text);
    print(path);
    if (note !== undefined) process.stderr.write(`plat generate: ${note}\n`);
  }
  return 0;
};

const contentOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/** Reports the files that are missing or differ. */
const compared = (files: readonly GeneratedFile[], folder: string): number => {
  const problems = files.flatMap(({name, text}) => {
    const path = join(folder, name);
    const content = contentOf(path);
    return content === text
      ? []
      : [`${path} ${content === undefined ? 'is missing' : 'is not up to date'}: run the same command without --check`];
  });
  for (const problem of problems) process.stderr.write(`plat generate: ${problem}\n`);
  return problems.length > 0 ? 1 : 0;
};
