import {compareGenerated, writeGenerated} from '#src/cli/program/generated-files.js';
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
  return (check ? compareGenerated : writeGenerated)(files, {program: 'plat generate', folder: out || folder, print: invocation.print});
};
