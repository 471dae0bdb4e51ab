import {readdirSync, readFileSync, statSync} from 'node:fs';
import {posix} from 'node:path';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import type {GenerateInvocation} from './invocation.js';
import {definitionFiles} from './definition-files.js';

/** Returns the files of the definitions of the kinds that are declared in files and folders. */
export const generatedDefinitions = async (
  {parsed: {options}}: Pick<GenerateInvocation, 'parsed'>,
  paths: readonly string[],
): Promise<readonly GeneratedFile[]> => {
  if (paths.length === 0) throw new Error('crds needs files or folders with declarations: plat generate crds src/backup.ts');
  const files = definitionFiles(paths.flatMap(sourcesAt), textOf, options.naming === 'plat' ? 'plat' : 'kubernetes');
  if (files.length === 0)
    throw new Error(`no kind is declared in ${paths.join(', ')}: give an interface the tag @group, or a handle by customKind`);
  return files;
};

/**
 * Returns the sources of a path: itself, or of a folder the files of TypeScript, without tests and declarations of
 * compiled code.
 */
const sourcesAt = (path: string): string[] => {
  const given = posix.normalize(path.replaceAll('\\', '/'));
  const stat = statSync(given, {throwIfNoEntry: false});
  if (!stat) throw new Error(`${given}: there is no such file or folder`);
  if (!stat.isDirectory()) return [given];
  const files = readdirSync(given).filter(file => file.endsWith('.ts') && !/\.(d|test|spec)\.ts$/.test(file));
  if (files.length === 0) throw new Error(`${given}: the folder holds no file that ends in .ts`);
  return files.sort().map(file => posix.join(given, file));
};

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
