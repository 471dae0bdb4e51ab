import {existsSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import type {Invocation} from '#src/program/program.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {createFlags} from '#src/options/programs/create.js';
import {addApi} from './api.js';
import {projectNames} from './names.js';
import {packageSource} from './package-source.js';
import {Project} from './project.js';
import {operatorFiles, packageFolder} from './template.js';
import {addWebhook} from './webhook.js';

type CreateInvocation = Invocation<(typeof createFlags)['rows']>;

/** `plat create`: creates a project. Returns the exit code. */
export const runCreate = async (invocation: CreateInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  return subcommandOf({operator, api, webhook}, command)(invocation, args);
};

/** Extends the project in the folder by what `add` adds, and says what changed. */
const extended = ({parsed: {options}, print}: CreateInvocation, args: readonly string[], add: (project: Project) => void): number => {
  const [command] = args;
  if (command !== undefined) throw new Error(`${JSON.stringify(command)} is too much: name the kind with --kind`);
  if (!options.kind) throw new Error('--kind is missing, such as --kind Backup');
  const project = new Project(options.dir || '.');
  add(project);
  for (const path of project.write()) print(path);
  return 0;
};

const api = (invocation: CreateInvocation, args: readonly string[]): number => {
  const {kind, group, apiVersion: version} = invocation.parsed.options;
  return extended(invocation, args, project => addApi(project, {kind, group, version}));
};

const webhook = (invocation: CreateInvocation, args: readonly string[]): number =>
  extended(invocation, args, project => addWebhook(project, invocation.parsed.options.kind));

const operator = ({parsed: {options}, print}: CreateInvocation, [name, more]: readonly string[]): number => {
  if (name === undefined || more !== undefined) throw new Error('operator needs one name: plat create operator backups');
  const names = projectNames(name, {...options, group: options.group || 'example.com'});
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
