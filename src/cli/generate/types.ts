import {groupOfVersion, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {commandClient} from '#src/cli/program/command-client.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import {typeModules, type SourcedDefinition} from '#src/codegen/types/modules.js';
import {readManifests} from '#src/plane/manifests/read.js';
import type {GenerateInvocation} from './invocation.js';

/** The groups of definitions in both namings. */
const groups: readonly string[] = (['plat', 'kubernetes'] as const).map(name => naming(name).group(kinds.customResourceDefinitions.group));

/** Returns modules of types: of the definitions in files and folders, or without any of those of a cluster. */
export const generatedTypes = async (invocation: GenerateInvocation, paths: readonly string[]): Promise<readonly GeneratedFile[]> => {
  const definitions = paths.length > 0 ? inFiles(paths) : await inCluster(invocation);
  if (definitions.length === 0)
    throw new Error(`there is no custom resource definition in ${paths.length > 0 ? paths.join(', ') : 'the cluster'}`);
  return typeModules(definitions);
};

const inFiles = (paths: readonly string[]): SourcedDefinition[] =>
  readManifests(paths).flatMap(({place, file = '', object}) => {
    const {kind, apiVersion} = object;
    if (kind !== kinds.customResourceDefinitions.kind || !groups.includes(groupOfVersion(apiVersion))) return [];
    if (!apiVersion.endsWith(`/${kinds.customResourceDefinitions.version}`))
      throw new Error(
        `${place}: ${apiVersion} is not supported, convert it to ${groupOfVersion(apiVersion)}/${kinds.customResourceDefinitions.version}`,
      );
    const {definition} = {definition: object as unknown as SourcedDefinition['definition']};
    if (!definition.spec?.names?.kind || !definition.spec.group || !Array.isArray(definition.spec.versions))
      throw new Error(`${place}: spec.group, spec.names.kind or spec.versions is missing`);
    return [{source: file.replaceAll('\\', '/'), definition}];
  });

const inCluster = async ({parsed: {options}, version}: GenerateInvocation): Promise<SourcedDefinition[]> => {
  await using connection = await commandClient(options, version);
  const {items} = await connection.client.resource(kinds.customResourceDefinitions).list();
  return items.map(definition => ({source: `${definition.metadata?.name ?? ''} of a cluster`, definition}));
};
