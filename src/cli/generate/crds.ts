import {readdirSync, statSync} from 'node:fs';
import {posix} from 'node:path';
import {textIfThere} from '#src/cli/program/generated-files.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import {generatedTypesHead} from '#src/codegen/types/modules.js';
import type {GenerateInvocation} from './invocation.js';
import {definitionFiles} from './definition-files.js';

/** Returns the files of the definitions of the kinds that are declared in files and folders. */
export const generatedDefinitions = async (
  {parsed: {options}}: Pick<GenerateInvocation, 'parsed'>,
  paths: readonly string[],
): Promise<readonly GeneratedFile[]> => {
  if (paths.length === 0) throw new Error('crds needs files or folders with declarations: plat generate crds src/backup.ts');
  const files = definitionFiles(paths.flatMap(sourcesAt), textIfThere, {
    words: options.naming === 'plat' ? 'plat' : 'kubernetes',
    descriptionLength: options.maxDescriptionLength,
  });
  if (files.length === 0)
    throw new Error(`no kind is declared in ${paths.join(', ')}: give an interface the tag @group, or a handle by customKind`);
  return files;
};

/**
 * Returns the sources of a path: itself, or of a folder and those within it the files of TypeScript, without tests and
 * declarations of compiled code.
 */
const sourcesAt = (path: string): string[] => {
  const given = posix.normalize(path.replaceAll('\\', '/'));
  const stat = statSync(given, {throwIfNoEntry: false});
  if (!stat) throw new Error(`${given}: there is no such file or folder`);
  if (!stat.isDirectory()) return [given];
  const files = [...sourcesIn(given), ...foldersIn(given)];
  if (files.length === 0) throw new Error(`${given}: the folder holds no file that ends in .ts`);
  return files;
};

const sourcesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter(file => /\.m?ts$/.test(file) && !/\.(d|test|spec)\.m?ts$/.test(file))
    .sort()
    .map(file => posix.join(folder, file));

/** The sources in the folders within one. What `plat generate types` wrote there declares kinds of others. */
const foldersIn = (folder: string): string[] =>
  readdirSync(folder, {withFileTypes: true})
    .filter(entry => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
    .map(({name}) => posix.join(folder, name))
    .sort()
    .flatMap(within => [...sourcesIn(within).filter(file => !textIfThere(file)?.startsWith(generatedTypesHead)), ...foldersIn(within)]);
