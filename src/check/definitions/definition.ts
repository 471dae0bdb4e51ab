// A new version of a definition of custom resources: what it changes for those who use the kind, and for the objects
// that are stored.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isForbidden} from '#src/api/status.js';
import {jsonText} from '#src/base/json/json.js';
import {fieldParts} from '#src/base/yaml/field-lines.js';
import {pagesOf} from '#src/client/pages.js';
import type {Definition, Version} from '#src/resources/apiextensions/types.js';
import {customFamily, type CustomFamily} from '#src/resources/custom/family.js';
import {additionalOf, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';
import type {CheckedCluster} from '#src/check/manifests/cluster.js';
import {hookContext, type LocalParts} from '#src/check/manifests/local.js';
import {FoldedFindings, namesText, type Folded} from './folded.js';
import {schemaChanges, type SchemaChanges} from './schema-changes.js';
import {judge} from './stored.js';

/** The definition of a manifest, with the defaults of definitions. */
export const definitionOf = ({object}: Manifest): Definition => structuredClone(object) as unknown as Definition;

/** Returns whether a definition can be judged: it has what all else is about. */
export const isComplete = ({spec}: Definition): boolean =>
  Boolean(spec?.group && spec.names?.plural && spec.names.kind) && Array.isArray(spec.versions) && spec.versions.length > 0;

/** Returns the kinds of a definition, as a server with it would serve them. */
export const familyOf = (definition: Definition, parts: LocalParts): CustomFamily =>
  customFamily(definition, {naming: parts.naming, gate: () => true, schemas: parts.schemas});

/** The fields about which the server says the same. */
export const saidHere = (field: string): boolean =>
  field === 'spec.scope' || field === 'spec.names.kind' || field.startsWith('status.storedVersions');

/** Finds what a new definition changes, other than that the server refuses it. */
export const definitionFindings = async (manifest: Manifest, cluster: CheckedCluster, parts: LocalParts): Promise<Finding[]> => {
  const now = definitionOf(manifest);
  if (!isComplete(now)) return [];
  const looked = await cluster.look(kinds.customResourceDefinitions as Kind<Definition>, manifest.name);
  if (looked.is !== 'there')
    return looked.is === 'absent'
      ? []
      : [manifest.finding('not-checked', `you may not read the definition ${manifest.name}: it was not compared with the one in force`)];
  const before = looked.object;
  const changes = changesByVersion(before, now);
  const findings = [...versionFindings(manifest, before, now), ...narrowedFindings(manifest, now, changes)];
  if (before.spec.scope !== now.spec.scope) return findings; // Its objects are others.
  return [...findings, ...(await storedFindings(manifest, {before, now, changes, cluster, parts}))];
};

const versionFindings = function* (manifest: Manifest, before: Definition, now: Definition): Generator<Finding, void> {
  const {spec} = now;
  if (before.spec.scope !== spec.scope)
    yield manifest.finding('definition-immutable', `spec.scope: the scope is ${before.spec.scope} and cannot become ${spec.scope}`, {
      field: 'spec.scope',
    });
  if (before.spec.names.kind !== spec.names.kind)
    yield manifest.finding(
      'definition-immutable',
      `spec.names.kind: the kind is ${before.spec.names.kind} and cannot become ${spec.names.kind}`,
      {
        field: 'spec.names.kind',
      },
    );
  for (const name of before.status?.storedVersions ?? [])
    if (!spec.versions.some(version => version.name === name))
      yield manifest.finding(
        'definition-immutable',
        `spec.versions: objects may be stored in ${name}, which is missing: it has to stay until they are migrated and it is taken out of status.storedVersions`,
        {field: 'spec.versions'},
      );
  for (const {name, served, subresources} of before.spec.versions) {
    const index = spec.versions.findIndex(version => version.name === name);
    const kept = spec.versions[index];
    if (served && !kept?.served)
      yield manifest.finding('definition-version', `${name} is no longer served: requests for it are answered with 404`, {
        field: kept ? `spec.versions[${index}].served` : 'spec.versions',
      });
    if (!kept) continue;
    for (const which of ['status', 'scale'] as const)
      if (subresources?.[which] && !kept.subresources?.[which])
        yield manifest.finding('definition-narrowed', `${name} no longer has the subresource ${which}`, {field: `spec.versions[${index}]`});
    if (!subresources?.status && kept.subresources?.status)
      yield manifest.finding(
        'definition-narrowed',
        `${name} has the subresource status now: writes of the object itself no longer change its status`,
        {field: `spec.versions[${index}].subresources`},
      );
  }
  const [old, stored] = [before, now].map(({spec: {versions}}) => versions.find(({storage}) => storage)?.name);
  if (old !== stored)
    yield manifest.finding('definition-version', `objects are stored in ${stored} from now on, and in ${old} until each is written again`, {
      field: `spec.versions[${spec.versions.findIndex(({storage}) => storage)}].storage`,
      level: 'note',
    });
};

type Changes = ReadonlyMap<string, SchemaChanges>;

const schemaOf = (version: Version | undefined): JsonSchema | undefined => version?.schema?.openAPIV3Schema as JsonSchema | undefined;

const changesByVersion = (before: Definition, now: Definition): Changes => {
  const all = new Map<string, SchemaChanges>();
  for (const version of now.spec.versions) {
    const [old, schema] = [schemaOf(before.spec.versions.find(({name}) => name === version.name)), schemaOf(version)];
    if (old && schema) all.set(version.name, schemaChanges(old, schema));
  }
  return all;
};

const narrowedFindings = (manifest: Manifest, now: Definition, changes: Changes): Finding[] =>
  [...changes].flatMap(([name, {narrowed}]) =>
    narrowed.map(({path, text}) =>
      manifest.finding('definition-narrowed', `${name}: ${path} ${text}`, {field: schemaField(now, name, path)}),
    ),
  );

/** The path in a definition of the schema of a field. */
const schemaField = ({spec}: Definition, name: string, path: string): string => {
  const index = spec.versions.findIndex(version => version.name === name);
  let schema = schemaOf(spec.versions[index]);
  let field = `spec.versions[${index}].schema.openAPIV3Schema`;
  for (const part of fieldParts(path)) {
    if (schema?.properties && Object.hasOwn(schema.properties, part)) {
      schema = schema.properties[part];
      field += `.properties[${part}]`;
    } else if (schema && itemsOf(schema)) {
      schema = itemsOf(schema);
      field += '.items';
    } else if (schema && additionalOf(schema)) {
      schema = additionalOf(schema);
      field += '.additionalProperties';
    } else break;
  }
  return field;
};

interface StoredParts {
  readonly before: Definition;
  readonly now: Definition;
  readonly changes: Changes;
  readonly cluster: CheckedCluster;
  readonly parts: LocalParts;
}

const storedFindings = async (manifest: Manifest, {before, now, changes, cluster, parts}: StoredParts): Promise<Finding[]> => {
  const served = before.spec.versions.filter(version => version.served);
  const read = served.find(({storage}) => storage) ?? served[0];
  if (!read) return [manifest.finding('not-checked', 'no version is served: its stored objects were not read')];
  const family = familyOf(now, parts);
  const converts = now.spec.conversion?.strategy === 'Webhook';
  const judged = family.versions.filter(
    ({kind: {version}}) => version === read.name || (!converts && version === family.stored.kind.version),
  );
  if (judged.length === 0)
    return [
      manifest.finding(
        'not-checked',
        `its objects are read in ${read.name}, which is missing here, and only its webhook converts them: they were not judged`,
      ),
    ];
  const kind = familyOf(before, parts).versions.find(({kind: {version}}) => version === read.name)!.kind;
  const judgements = judged.map(version => ({
    version,
    context: hookContext(parts, version.kind),
    folded: new FoldedFindings(),
    defaults: changes.get(version.kind.version)?.defaults ?? [],
  }));
  let total = 0;
  try {
    for await (const page of pagesOf(cluster.client.resource(kind))) {
      total += page.length;
      for (const object of page) for (const judgement of judgements) await judge(object, judgement);
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return [manifest.finding('not-checked', `you may not list ${kind.plural}: the stored objects were not judged`)];
  }
  return judgements.flatMap(({version, folded, defaults}) => {
    const name = version.kind.version;
    const findings = folded.all.map(each =>
      manifest.finding(each.rule, storedText(each, {name, total, kind: kind.kind}), {field: schemaField(now, name, each.path)}),
    );
    for (const {path, before: old, now: value} of defaults)
      if (!folded.all.some(each => each.rule === 'definition-default' && each.path === path))
        findings.push(
          manifest.finding('definition-default', `${name}: ${path} is ${jsonText(value)} instead of ${jsonText(old)} by default`, {
            field: schemaField(now, name, path),
          }),
        );
    if (folded.more > 0) findings.push(manifest.finding('not-checked', `${name}: and ${folded.more} more findings about stored objects`));
    return findings;
  });
};

const storedText = (each: Folded, {name, total, kind}: {readonly name: string; readonly total: number; readonly kind: string}): string => {
  const {rule, path, text, count} = each;
  const who = `${count} of ${total} stored ${kind} objects (${namesText(each)})`;
  switch (rule) {
    case 'stored-pruned':
      return `${name}: ${who} lose ${path}`;
    case 'stored-defaulted':
      return `${name}: ${who} get ${path}=${text}`;
    case 'definition-default':
      return `${name}: ${path} ${text}; ${who} have the old default, and keep it where it is stored`;
    case 'stored-ratcheted':
      return `${name}: ${who} are invalid, and only their unchanged parts are tolerated: ${path}: ${text}`;
    default:
      return `${name}: ${who} are invalid, and no update of them is accepted: ${path}: ${text}`;
  }
};
