import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {posix} from 'node:path';
import {naming as namingOf} from '#src/api/naming.js';
import {generatedRightsHead, parseRights, rightsManifest} from '#src/codegen/rights/roles.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import type {GenerateInvocation} from './invocation.js';

/** Returns the file of the roles of an operator, from recordings of its rights. */
export const generatedRights = async (
  {parsed: {options}}: Pick<GenerateInvocation, 'parsed'>,
  paths: readonly string[],
): Promise<readonly GeneratedFile[]> => {
  if (paths.length === 0) throw new Error('rbac needs recordings of rights: plat generate rbac rights.json --name=backups');
  const {name, namespace} = options;
  if (!name) throw new Error('rbac needs the name of the service account: --name=backups');
  const rights = paths.flatMap(recordingsAt).flatMap(path => parseRights(readFileSync(path, 'utf8'), path));
  if (rights.length === 0) throw new Error(`nothing is recorded in ${paths.join(', ')}`);
  const naming = namingOf(options.naming === 'plat' ? 'plat' : 'kubernetes');
  return [{name: 'rights.yaml', text: generatedRightsHead + rightsManifest(rights, {name, namespace: namespace || name, naming})}];
};

/** Returns the recordings of a path: itself, or those in a folder. */
const recordingsAt = (path: string): readonly string[] => {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path).filter(file => file.endsWith('.json'));
  if (files.length === 0) throw new Error(`${path}: the folder holds no file that ends in .json`);
  return files.sort().map(file => posix.join(path, file));
};
