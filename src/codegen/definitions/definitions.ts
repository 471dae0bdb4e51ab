// Custom resource definitions from declarations: one for each kind, with the versions that are declared.

import {failureAt, type Declaration, type Handle, type Place, type SourceFile} from '#src/codegen/declarations/syntax.js';
import {defaultNames, kindFacts, type Definition, type KindFacts, type Version} from '#src/codegen/kind-tags.js';
import {Schemas} from './schema.js';
import type {Scope} from './scope.js';

type Interface = Declaration & {readonly is: 'interface'};

/** A version of a kind as it is declared. */
interface DeclaredKind {
  readonly declaration: Interface;
  readonly facts: KindFacts;
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

/** A definition and the files that declare it. */
export interface DeclaredDefinition {
  readonly definition: Definition;
  readonly sources: readonly string[];
}

/** The fields of a handle, and the tags that say the same. */
const shared = ['group', 'version', 'kind', 'plural'] as const;

/**
 * Returns the definitions of the kinds that files declare, by name. A kind is an interface with the tag `@group`, or
 * with a handle. `apiVersion` is that of definitions in the naming of the cluster. Throws an error of one line with the
 * place for a declaration that cannot become a definition.
 */
export const definitionsOf = (files: readonly SourceFile[], scope: Scope, apiVersion: string): readonly DeclaredDefinition[] => {
  const byName = new Map<string, DeclaredKind[]>();
  for (const file of files) {
    for (const kind of kindsOf(file)) {
      const name = `${kind.kind} ${kind.group}`;
      byName.set(name, [...(byName.get(name) ?? []), kind]);
    }
  }
  return [...byName.values()].map(versions => definitionOf(versions, new Schemas(scope), apiVersion)).sort(inOrder);
};

const inOrder = ({definition: one}: DeclaredDefinition, {definition: other}: DeclaredDefinition): number =>
  one.metadata!.name! < other.metadata!.name! ? -1 : 1;

const kindsOf = ({declarations, handles, file}: SourceFile): DeclaredKind[] => {
  const stray = handles.find(({type}) => declarations.get(type)?.is !== 'interface');
  if (stray) throw failureAt(stray.at, `the handle is of ${stray.type}, which is no interface of this file`);
  return [...declarations.values()].flatMap(declaration => {
    const handle = handles.find(({type}) => type === declaration.name);
    const isKind = handle !== undefined || declaration.doc.tags.some(({name}) => name === 'group');
    if (!isKind) return [];
    if (declaration.is !== 'interface') throw failureAt(declaration.at, `${declaration.name} has @group and is no interface`);
    const facts = kindFacts(declaration.doc.tags, (line, message) => {
      throw failureAt({file, line}, message);
    });
    return [{declaration, ...identified(declaration, facts, handle)}];
  });
};

/** The names of a kind from its tags and its handle, which must agree. */
const identified = ({name, at}: Interface, facts: KindFacts, handle: Handle | undefined): Omit<DeclaredKind, 'declaration'> => {
  const fields = handle?.fields ?? {};
  for (const each of shared) {
    if (facts[each] !== undefined && fields[each] !== undefined && facts[each] !== fields[each])
      throw failureAt(
        handle!.at,
        `the handle has the ${each} ${JSON.stringify(fields[each])}, and the tag @${each} says ${JSON.stringify(facts[each])}`,
      );
  }
  const scope = fields['namespaced'] === undefined ? (handle ? 'Namespaced' : undefined) : fields['namespaced'] ? 'Namespaced' : 'Cluster';
  if (facts.scope && scope && facts.scope !== scope)
    throw failureAt(handle!.at, `the handle says ${scope}, and the tag @scope says ${facts.scope}`);
  const text = (each: (typeof shared)[number]): string | undefined => facts[each] ?? (fields[each] as string | undefined);
  const [group, version, kind = name, plural] = shared.map(text);
  if (!group) throw failureAt(at, `${name} needs @group, the group of the API`);
  if (!version) throw failureAt(at, `${name} needs @version, such as @version v1`);
  return {group, version, kind, facts: {...facts, scope: facts.scope ?? scope ?? 'Namespaced', ...(plural === undefined ? {} : {plural})}};
};

const storedOf = (versions: readonly DeclaredKind[]): DeclaredKind => {
  const stored = versions.filter(({facts}) => facts.isStored);
  const [first, second] = stored.length > 0 ? stored : versions;
  if (second) {
    const place: Place = second.declaration.at;
    throw failureAt(
      place,
      `${second.kind} has ${stored.length > 0 ? 'several versions' : 'versions and none'} with @storage: one is stored`,
    );
  }
  return first!;
};

const definitionOf = (versions: readonly DeclaredKind[], schemas: Schemas, apiVersion: string): DeclaredDefinition => {
  const twice = versions.find(({version}, index) => versions.findIndex(other => other.version === version) !== index);
  if (twice) throw failureAt(twice.declaration.at, `${twice.kind} is declared twice in ${twice.group}/${twice.version}`);
  const stored = storedOf(versions);
  const {group, kind, facts} = stored;
  const names = defaultNames(kind);
  const plural = facts.plural ?? names.plural;
  const {shortNames, categories, annotations, labels} = facts;
  const definition: Definition = {
    apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...(Object.keys(labels).length > 0 ? {labels} : {}),
      ...(Object.keys(annotations).length > 0 ? {annotations} : {}),
    },
    spec: {
      group,
      scope: facts.scope!,
      names: {
        kind,
        plural,
        singular: facts.singular ?? names.singular,
        listKind: facts.listKind ?? names.listKind,
        ...(shortNames.length > 0 ? {shortNames: [...shortNames]} : {}),
        ...(categories.length > 0 ? {categories: [...categories]} : {}),
      },
      versions: versions.map(each => versionOf(each, each === stored, schemas)),
    },
  };
  return {definition, sources: [...new Set(versions.map(({declaration}) => declaration.at.file))].sort()};
};

const versionOf = ({declaration, facts, version}: DeclaredKind, storage: boolean, schemas: Schemas): Version => ({
  name: version,
  served: facts.isServed,
  storage,
  ...(facts.deprecated === undefined ? {} : {deprecated: true, ...(facts.deprecated ? {deprecationWarning: facts.deprecated} : {})}),
  ...(Object.keys(facts.subresources).length > 0 ? {subresources: facts.subresources} : {}),
  ...(facts.selectableFields.length > 0 ? {selectableFields: facts.selectableFields.map(jsonPath => ({jsonPath}))} : {}),
  ...(facts.columns.length > 0 ? {additionalPrinterColumns: [...facts.columns]} : {}),
  schema: {openAPIV3Schema: schemas.ofKind(declaration, facts.schemaTags) as NonNullable<Version['schema']>['openAPIV3Schema'] & object},
});
