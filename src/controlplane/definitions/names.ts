import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {Index, Lister} from '#informers/lister.js';
import {conditionOf, hasCondition, setCondition} from '#src/resources/apiextensions/conditions.js';
import type {Condition, Definition, Names} from '#src/resources/apiextensions/types.js';
import {defineController, sameKey, settled} from '#src/runtime/controller.js';
import {withOwnStatus, writeStatus, type Cached} from './status.js';

type Taken = ReadonlySet<string>;
type NamesCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
type HeldNames = NonNullable<NonNullable<Cached['status']>['acceptedNames']> | Names;

const hasItsNames = ({spec, status}: Cached): boolean => sameContent(spec.names, status?.acceptedNames ?? {});

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

const several = (texts: readonly string[]): string => {
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
};

/** Returns the accepted ones of the requested names, and reason and message of the last conflict, if any. */
const acceptNames = (
  requested: HeldNames,
  accepted: Partial<HeldNames>,
  resources: Taken,
  kindNames: Taken,
): {names: Names; conflict?: {reason: string; message: string}} => {
  const names = structuredClone(accepted) as Names;
  let conflict: {reason: string; message: string} | undefined;
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', taken: Taken, reason: string): void => {
    const name = requested[field] ?? '';
    if (name !== (accepted[field] ?? '') && taken.has(name)) conflict = {reason, message: inUse(name)};
    else if (name) names[field] = name;
  };
  const shorten = (): void => {
    const own = new Set(accepted.shortNames);
    const conflicts = (requested.shortNames ?? []).filter(name => !own.has(name) && resources.has(name) && name !== '');
    if (conflicts.length > 0) conflict = {reason: 'ShortNamesConflict', message: several(conflicts.map(inUse))};
    else if (requested.shortNames) names.shortNames = [...requested.shortNames];
    else delete names.shortNames;
  };
  take('plural', resources, 'PluralConflict');
  take('singular', resources, 'SingularConflict');
  shorten();
  take('kind', kindNames, 'KindConflict');
  take('listKind', kindNames, 'ListKindConflict');
  if (requested.categories) names.categories = [...requested.categories];
  else delete names.categories;
  return {names, ...(conflict ? {conflict} : {})};
};

const byGroup: Index<Definition> = {name: 'group', values: ({spec}) => [spec.group]};

type Accepted = NonNullable<Cached['status']>['acceptedNames'];

/** The names that other definitions of the group have. */
const takenNames = (definitions: readonly Cached[], acceptedBy: (cached: Cached) => Accepted): {resources: Taken; kindNames: Taken} => {
  const resources = new Set<string>();
  const kindNames = new Set<string>();
  for (const cached of definitions) {
    const {plural, singular, shortNames = [], kind, listKind} = acceptedBy(cached) ?? {};
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kindNames.add(name);
  }
  return {resources, kindNames};
};

/** The accepted names that are newer than the cache. */
const memory = () => {
  const written = new Map<string, {readonly resourceVersion: string; readonly names: Accepted}>();
  return {
    note: ({metadata, status}: Definition) =>
      void written.set(metadata!.name!, {resourceVersion: metadata!.resourceVersion!, names: status?.acceptedNames as Accepted}),
    acceptedBy({metadata, status}: Cached): Accepted {
      const name = metadata?.name ?? '';
      const own = written.get(name);
      if (own && isOlderVersion(metadata?.resourceVersion ?? '', own.resourceVersion)) return own.names;
      written.delete(name);
      return status?.acceptedNames;
    },
    forget: (name: string) => void written.delete(name),
  };
};

/** The group of a definition, from its name. */
const groupOf = (name: string): string => name.slice(name.indexOf('.') + 1);

const namesCondition = (conflict: {reason: string; message: string} | undefined): NamesCondition =>
  conflict
    ? {type: 'NamesAccepted', status: 'False', ...conflict}
    : {type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found'};

const establishedCondition = (cached: Cached, accepted: boolean): NamesCondition => {
  const old = conditionOf(cached, 'Established') as NamesCondition | undefined;
  if (accepted && old?.status !== 'True')
    return {type: 'Established', status: 'False', reason: 'Installing', message: 'the initial names have been accepted'};
  return old ?? {type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted'};
};

/**
 * Accepts the names of each definition that do not conflict with others of its group, and reports that in its status.
 */
export const namesLoop = defineController({
  doc: 'Accepts the names of custom resources that do not conflict with others.',
  name: 'crd_naming_condition_controller',
  watches: [sameKey(kinds.customResourceDefinitions, ({type, object}) => type === 'deleted' || !hasItsNames(object))],
  // One at a time: the first definition gets the name.
  workers: 1,
  create({lister, writer, clock, enqueue}) {
    const definitions = lister(kinds.customResourceDefinitions as Kind<Definition>) as Lister<Definition>;
    const {updateStatus} = writer(kinds.customResourceDefinitions as Kind<Definition>);
    const {note, acceptedBy, forget} = memory();
    const others = (name: string): void => {
      for (const definition of definitions.by(byGroup, groupOf(name)) as readonly Cached[]) {
        const other = definition.metadata?.name ?? '';
        if (other !== name && !hasItsNames(definition)) enqueue({namespace: '', name: other});
      }
    };
    return async ({name}) => {
      const cached = definitions.get(name) as Cached | undefined;
      if (!cached) {
        forget(name);
        others(name); // Its names have become available.
        return settled;
      }
      if (hasItsNames(cached)) return settled;
      const requested = cached.spec.names;
      const had = cached.status?.acceptedNames ?? {};
      const {resources, kindNames} = takenNames(definitions.by(byGroup, cached.spec.group) as readonly Cached[], acceptedBy);
      const {names, conflict} = acceptNames(requested, had, resources, kindNames);
      const accepted = namesCondition(conflict);
      if (sameContent(names, had) && hasCondition(cached, accepted)) return settled;
      const definition = withOwnStatus(cached);
      (definition.status ??= {}).acceptedNames = names;
      setCondition(definition, accepted, clock.now());
      setCondition(definition, establishedCondition(cached, conflict === undefined), clock.now());
      const updated = await writeStatus({updateStatus}, definition);
      if (!updated) return settled;
      note(updated);
      others(name); // It may have given up a name.
      return settled;
    };
  },
});
