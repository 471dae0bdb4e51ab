import {rmSync} from 'node:fs';
import {join} from 'node:path';
import type {Invocation} from '#src/program/program.js';
import {compareGenerated, writeGenerated} from '#src/cli/program/generated-files.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import {packageFormats, type packageFlags} from '#src/options/programs/package.js';
import {bundleFiles} from './bundle/files.js';
import {chartFiles} from './chart/files.js';
import {installFiles} from './install.js';
import {operatorProject, type OperatorProject} from './project/operator-project.js';
import {staleFiles} from './stale.js';

type PackageInvocation = Invocation<(typeof packageFlags)['rows']>;

/** `plat package`: writes the files, or with `--check` compares them. Returns the exit code. */
export const runPackage = async ({parsed: {args, options}, print}: PackageInvocation): Promise<number> => {
  const [directory = '.', more] = args;
  if (more !== undefined) throw new Error(`${JSON.stringify(more)} is too much: name one directory`);
  const {version, image, channel, format, check} = options;
  const files = packageFiles(operatorProject(directory, {version, image}), {channel, formats: format});
  const folder = options.output || join(directory, 'package');
  const stale = staleFiles(folder, new Set(files.map(({name}) => name)), format);
  const generation = {program: 'plat package', folder, print};
  if (!check) {
    for (const name of stale) rmSync(join(folder, name));
    return writeGenerated(files, generation);
  }
  for (const name of stale)
    process.stderr.write(`plat package: ${join(folder, name)} is no longer needed: run the same command without --check\n`);
  return compareGenerated(files, generation) || (stale.length > 0 ? 1 : 0);
};

/** What is written. */
export interface PackageContents {
  readonly channel: string;
  readonly formats: readonly (typeof packageFormats)[number][];
}

/** Returns the files that ship an operator. Throws an error of one line for what a format cannot express. */
export const packageFiles = (project: OperatorProject, {channel, formats}: PackageContents): readonly GeneratedFile[] => {
  const writers = {install: installFiles, helm: chartFiles, olm: (each: OperatorProject) => bundleFiles(each, channel)};
  return packageFormats.filter(each => formats.includes(each)).flatMap(each => writers[each](project));
};
