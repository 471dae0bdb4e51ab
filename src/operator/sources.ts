// Sources of a controller (a kind or a selection), keys and indexes.

import type {Selection as InformerSelection, Source as InformerSource} from '#informers/selection.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Stored} from './client/objects.js';

/** The selectors of a selection. */
export interface SelectionOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Whether only metadata is requested and cached. */
  readonly metadataOnly?: true;
  /** The name of another cluster of the manager: `on`. */
  readonly cluster?: string;
}

/** A part of the collection of a kind. Selections with equal selectors are the same, and share one cache. */
export interface Selection<T extends KubeObject = KubeObject, Name extends string = string> extends SelectionOptions {
  readonly kind: Kind<T, Name>;
}

/** What a cache holds: a kind, or a part of its collection. */
export type Source<T extends KubeObject = KubeObject> = Kind<T> | Selection<T>;

/** The type of the objects of a source. */
export type ObjectOfSource<S> = S extends Kind<infer T> ? T : S extends Selection<infer T> ? T : KubeObject;

/** The sources by which caches can be read: the declared ones, and their kinds. */
export type Readable<S extends Source> = S | (S extends Selection<infer T, infer Name> ? Kind<T, Name> : never);

/**
 * Restricts caches and watches to a part of a collection: `selection(Secret, {labelSelector: 'app=backup'})`. With
 * `metadataOnly` only metadata is requested and cached.
 */
export const selection = <T extends KubeObject, Name extends string>(
  kind: Kind<T, Name>,
  options: SelectionOptions,
): Selection<T, Name> => ({...options, kind});

/**
 * Selects from another cluster of the manager: `on('edge', Pod)`, or a part of a collection there, `on('edge',
 * selection(Pod, {namespace: 'shop'}))`. The name is that of `clusters` of `createManager`.
 */
export const on = <T extends KubeObject, Name extends string>(
  cluster: string,
  source: Kind<T, Name> | Selection<T, Name>,
): Selection<T, Name> =>
  typeof source.kind === 'object' ? {...(source as Selection<T, Name>), cluster} : {kind: source as Kind<T, Name>, cluster};

/** Returns the name of the cluster of a source; undefined for that of the manager itself. */
export const clusterOf = (source: Source): string | undefined => ('cluster' in source ? source.cluster : undefined);

/** Returns the kind of a source. */
export const kindOf = <T extends KubeObject>(source: Source<T> | InformerSource<T>): Kind<T> =>
  typeof source.kind === 'object' ? source.kind : (source as Kind<T>);

const selectorsOf = (source: Source): InformerSelection =>
  typeof source.kind === 'object' ? (source as InformerSelection) : {kind: source as Kind};

/** Whether two sources hold the same objects in the same form. */
export const sameSource = (a: Source, b: Source): boolean => {
  const [one, other] = [selectorsOf(a), selectorsOf(b)];
  return (
    sameKind(one.kind, other.kind) &&
    (['namespace', 'labelSelector', 'fieldSelector', 'metadataOnly', 'cluster'] as const).every(
      field => (one[field] || undefined) === (other[field] || undefined),
    )
  );
};

/** Returns sources without those that are the same as an earlier one. */
export const distinct = (sources: readonly Source[]): readonly Source[] =>
  sources.filter((source, at) => sources.findIndex(each => sameSource(each, source)) === at);

/** Whether two kinds have the same group, version and plural. */
export const sameKind = (a: Kind, b: Kind): boolean => a.group === b.group && a.version === b.version && a.plural === b.plural;

/** An index of cached objects by values derived from them: what `index` declares, and `caches.by` takes. */
export interface Index<T extends KubeObject = KubeObject> {
  readonly source: Source<T>;
  values(object: Stored<T>): readonly string[];
}

/**
 * Declares an index: with `const bySecret = index(Backup, backup => [backup.spec.credentials])` among the `indexes` of
 * a controller, `caches.by(bySecret, name)` returns the backups with that secret. It is created with the controller and
 * filled in slices as objects arrive. `values` is called for each version of an object, and must be fast.
 */
export const index = <T extends KubeObject>(source: Source<T>, values: (object: Stored<T>) => readonly string[]): Index<T> => ({
  source,
  values,
});
