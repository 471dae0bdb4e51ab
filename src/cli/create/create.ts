import {existsSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import type {Invocation} from '#src/program/program.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {createFlags} from '#src/options/programs/create.js';
import {projectNames} from './names.js';
import {packageSource} from './package-source.js';
import {operatorFiles, packageFolder} from './template.js';

type CreateInvocation = Invocation<(typeof createFlags)['rows']>;

/** `plat create`: creates a project. Returns the exit code. */
export const runCreate = async (invocation: CreateInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  return subcommandOf({operator}, command)(invocation, args);
};

const operator = ({parsed: {options}, print}: CreateInvocation, [name, more]: readonly string[]): number => {
  if (name === undefined || more !== undefined) throw new Error('operator needs one name: plat create operator backups');
  const names = projectNames(name, options);
  const folder = options.dir || name;
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty: name another folder with --dir`);
  const source = options.plat || packageSource(packageFolder());
  for (const [path, text] of Object.entries(operatorFiles(names, source))) {
    makeFolder(dirname(join(folder, path)));
    writeFileSync(join(folder, path), text);
  }
  print(`${folder} has an operator for the kind ${names.kind}. Next:`);
  print(`  cd ${folder} && npm install && npm test`);
  return 0;
};
