import {sameContent} from '#src/api/equal.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {GroupToken, Naming} from '#src/api/naming.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {builtInPriority, customPriority, type Priority} from '#src/resources/apiregistration/priorities.js';
import type {Index, Lister} from '#informers/lister.js';
import {defineController, mapped, settled, type KeyedController} from '#src/runtime/controller.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from '#src/controlplane/ensure.js';
import {ignoring} from '#src/controlplane/ignoring.js';
import type {ApiService} from './condition.js';

type Definition = ObjectOf<typeof kinds.customResourceDefinitions>;

/**
 * How long the server manages an APIService: `onstart` ones are created when it starts and then left to users, the
 * others are restored after every change.
 */
type Managed = 'onstart' | 'true';

/**
 * Groups that other servers may serve permanently: their APIServices are created if they are missing, and never
 * changed.
 */
const excludedGroups: ReadonlySet<GroupToken> = new Set(['metrics']);

/** A group version that the server serves itself. */
interface ServedVersion {
  readonly group: GroupToken;
  readonly version: string;
}

export interface AutoregisterParts {
  /** The APIServices of the group versions that the server serves itself, by name. */
  readonly builtIn: ReadonlyMap<string, ApiService>;
  /** Whether custom resources can be defined. */
  readonly withDefinitions: boolean;
  readonly naming: Naming;
}

/** The object was changed or deleted meanwhile; its event triggers the next reconcile. */
const isWriteConflict = (error: unknown): boolean => isNotFound(error) || isConflict(error);

const nameOf = (group: string, version: string): string => `${version}.${group}`;

/** The label that marks APIServices managed by the server. */
const managedLabel = (naming: Naming): string => naming.subKey(naming.component('aggregator'), 'automanaged');

const registration = (
  naming: Naming,
  group: string,
  version: string,
  {group: groupPriorityMinimum, version: versionPriority}: Priority,
  managed: Managed | undefined,
): ApiService => ({
  metadata: {name: nameOf(group, version), ...(managed ? {labels: {[managedLabel(naming)]: managed}} : {})},
  // The core group has no name, which the stored object omits.
  spec: {...(group ? {group} : {}), version, groupPriorityMinimum, versionPriority},
});

/**
 * Returns the APIServices of the built-in group versions by name. Group versions without a priority are not registered.
 */
export const builtInRegistrations = (served: readonly ServedVersion[], naming: Naming): ReadonlyMap<string, ApiService> => {
  const wanted = new Map<string, ApiService>();
  for (const {group, version} of served) {
    const groupName = naming.group(group);
    const name = nameOf(groupName, version);
    if (wanted.has(name)) continue;
    const priority = builtInPriority(group, version);
    if (!priority) continue;
    wanted.set(name, registration(naming, groupName, version, priority, excludedGroups.has(group) ? undefined : 'onstart'));
  }
  return wanted;
};

/** Creates the registrations that are missing, which the loop does at the start only. */
export const ensureRegistrations = async (client: Client, registrations: ReadonlyMap<string, ApiService>): Promise<void> => {
  const objects = client.resource(kinds.apiServices);
  await Promise.all(
    [...registrations].map(([name, wanted]) => ensureObject(objects, {name}, found => (found ? undefined : {create: wanted}))),
  );
};

/** Definitions by the names of the APIServices of their versions. */
const serving: Index<Definition> = {
  name: 'serving',
  values: ({spec}) => (spec?.versions ?? []).filter(({served}) => served).map(({name}) => nameOf(spec!.group, name)),
};

const versionsOf = ({spec}: Frozen<Definition>): ObjectKey[] =>
  (spec?.versions ?? []).map(({name}) => ({namespace: '', name: nameOf(spec!.group, name)}));

const managementOf = (naming: Naming, object: Frozen<ApiService> | undefined): Managed | undefined => {
  const value = object?.metadata?.labels?.[managedLabel(naming)];
  return value === 'onstart' || value === 'true' ? value : undefined;
};

/** Returns the desired APIService of a name, if any. */
const wantedOf = (
  {naming, builtIn}: AutoregisterParts,
  definitions: Lister<Definition> | undefined,
): ((name: string) => ApiService | undefined) => {
  return name => {
    const known = builtIn.get(name);
    if (known) return known;
    const [definition] = definitions?.by(serving, name) ?? [];
    if (!definition) return undefined;
    const {group} = definition.spec;
    return registration(naming, group, name.slice(0, -group.length - 1), customPriority, 'true');
  };
};

/**
 * Registers the versions that this server serves: built-in ones once, at the start, those of custom resources as long
 * as their definitions serve them. An APIService with the managed label whose version is not served is deleted. Others
 * are not changed.
 */
export const autoregisterLoop = (parts: AutoregisterParts): KeyedController =>
  defineController({
    doc: 'Keeps an APIService for each group version that this server serves.',
    name: 'autoregister',
    primary: kinds.apiServices,
    ...(parts.withDefinitions
      ? {
          watches: [
            mapped(kinds.customResourceDefinitions, change => [
              ...versionsOf(change.object),
              ...(change.type === 'updated' ? versionsOf(change.old) : []),
            ]),
          ],
        }
      : {}),
    workers: 32, // Writes of one turn share a commit, so that an empty store is filled in few of them.
    create({lister, writer, enqueue}) {
      const {naming} = parts;
      const objects = lister(kinds.apiServices);
      const {create, update, delete: remove} = writer(kinds.apiServices);
      const wantedAt = wantedOf(parts, parts.withDefinitions ? lister(kinds.customResourceDefinitions) : undefined);
      const done = new Set<string>();
      let atStart: ReadonlySet<string> | undefined;
      for (const name of parts.builtIn.keys()) enqueue({namespace: '', name});

      const settle = async (name: string): Promise<void> => {
        const wanted = wantedAt(name);
        const found = objects.get(name);
        const wasDone = done.has(name);
        if (wanted && managementOf(naming, wanted) !== 'true' && wasDone) return;
        if (!found) return wanted && void (await create(wanted).catch(ignoring(isAlreadyExists)));
        const managed = managementOf(naming, found);
        if (!managed) return;
        if (managed === 'onstart' && (wasDone || !atStart?.has(name))) return;
        if (!wanted) return remove(found).catch(ignoring(isWriteConflict));
        if (sameContent(found.spec, wanted.spec)) return;
        await update({...(found as ApiService), ...(wanted.spec ? {spec: wanted.spec} : {})}).catch(ignoring(isWriteConflict));
      };

      return async ({name}) => {
        atStart ??= new Set(objects.list().map(object => keyOf(object).name));
        await settle(name);
        done.add(name);
        return settled;
      };
    },
  });
