import {existsSync, readFileSync} from 'node:fs';
import {naming as namingOf} from '#src/api/naming.js';
import {rightsManifest, parseRights} from '#src/codegen/rights/roles.js';
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
  const rights = paths.flatMap(path => parseRights(textOf(path), path));
  if (rights.length === 0) throw new Error(`nothing is recorded in ${paths.join(', ')}`);
  const naming = namingOf(options.naming === 'plat' ? 'plat' : 'kubernetes');
  return [{name: 'rights.yaml', text: rightsManifest(rights, {name, namespace: namespace || name, naming})}];
};

const textOf = (path: string): string => {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file`);
  return readFileSync(path, 'utf8');
};
