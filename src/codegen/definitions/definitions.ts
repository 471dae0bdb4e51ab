// Custom resource definitions from declarations: one for each kind, with the versions that are declared.

import {failureAt, type Declaration, type Handle, type Place, type SourceFile} from '#src/codegen/declarations/syntax.js';
import {defaultNames, kindFacts, type Definition, type KindFacts, type Version} from '#src/codegen/kind-tags.js';
import {Schemas} from './schema.js';
import type {Scope} from './scope.js';

/** A version of a kind as it is declared. */
interface DeclaredKind {
  readonly declaration: Declaration;
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
  for (const kind of kindsOf(files, scope)) {
    const name = `${kind.kind} ${kind.group}`;
    byName.set(name, [...(byName.get(name) ?? []), kind]);
  }
  return [...byName.values()].map(versions => definitionOf(versions, new Schemas(scope), apiVersion)).sort(inOrder);
};

const inOrder = ({definition: one}: DeclaredDefinition, {definition: other}: DeclaredDefinition): number =>
  one.metadata!.name! < other.metadata!.name! ? -1 : 1;

/** A handle whose fields are known. */
interface ReadHandle {
  readonly at: Place;
  readonly fields: Readonly<Record<string, string | boolean>>;
}

const kindsOf = (files: readonly SourceFile[], scope: Scope): readonly DeclaredKind[] => {
  const handles = handlesOf(files, scope);
  const tagged = files.flatMap(({declarations}) =>
    [...declarations.values()].filter(({doc}) => doc.tags.some(({name}) => name === 'group')),
  );
  const order = files.map(({file}) => file);
  const place = ({at: {file, line}}: Declaration): readonly [number, number] => [order.indexOf(file), line];
  return [...new Set([...tagged, ...handles.keys()])]
    .sort((one, other) => place(one)[0] - place(other)[0] || place(one)[1] - place(other)[1])
    .map(declaration => kindOf(declaration, handles.get(declaration)));
};

const kindOf = (declaration: Declaration, handle: ReadHandle | undefined): DeclaredKind => {
  if (declaration.is === 'enum') throw failureAt(declaration.at, `${declaration.name} has @group and is no interface`);
  const facts = kindFacts(declaration.doc.tags, (line, message) => {
    throw failureAt({...declaration.at, line}, message);
  });
  return {declaration, ...identified(declaration, facts, handle)};
};

/**
 * Returns the handles by the declarations that they are of. Those of a type parameter or of a type that is not known
 * are none of a kind here.
 */
const handlesOf = (files: readonly SourceFile[], scope: Scope): ReadonlyMap<Declaration, ReadHandle> => {
  const handles = new Map<Declaration, ReadHandle>();
  for (const handle of files.flatMap(file => file.handles)) {
    if (!scope.knows(handle.type, handle.at.file)) continue;
    const meaning = scope.meaning(handle.type, handle.at);
    if (!('declaration' in meaning) || meaning.declaration.is === 'enum')
      throw failureAt(handle.at, `the handle is of ${handle.type}, which is no interface`);
    handles.set(meaning.declaration, readHandle(handle, scope));
  }
  return handles;
};

const readHandle = ({fields, at}: Handle, scope: Scope): ReadHandle => ({
  at,
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, given]) => {
      const value = typeof given === 'object' ? scope.constant(given.constant, at) : given;
      const known = typeof value === 'object' ? (value.is === 'literal' ? value.value : undefined) : value;
      if (typeof known !== 'string' && typeof known !== 'boolean')
        throw failureAt(at, `the field ${name} of a handle must be a literal, or a constant that is one`);
      return [name, known];
    }),
  ),
});

/** The names of a kind from its tags and its handle, which must agree. */
const identified = ({name, at}: Declaration, facts: KindFacts, handle: ReadHandle | undefined): Omit<DeclaredKind, 'declaration'> => {
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
      ...(facts.conversion ? {conversion: facts.conversion} : {}),
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
