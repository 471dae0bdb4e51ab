// Sources of a controller (a kind or a selection), keys and indexes.

import type {Selection, Source} from '#informers/selection.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';

export type {Selection, Source};

/** The selectors of a selection. */
export type SelectionOptions = Pick<Selection, 'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'>;

/**
 * Restricts caches and watches to a part of a collection: `selection(Secret, {labelSelector: 'app=backup'})`. With
 * `metadataOnly` only metadata is requested and cached.
 */
export const selection = <T extends KubeObject>(kind: Kind<T>, options: SelectionOptions): Selection<T> => ({...options, kind});

/** Returns the kind of a source. */
export const kindOf = <T extends KubeObject>(source: Source<T>): Kind<T> =>
  typeof source.kind === 'object' ? source.kind : (source as Kind<T>);

/** A name in the namespace of the current object, or a whole key. */
export type KeyLike = string | Partial<ObjectKey>;

/** Returns the whole key; a name alone has no namespace. */
export const objectKey = (key: KeyLike): ObjectKey =>
  typeof key === 'string' ? {namespace: '', name: key} : {namespace: '', name: '', ...key};

/** Whether two kinds have the same group, version and plural. */
export const sameKind = (a: Kind, b: Kind): boolean => a.group === b.group && a.version === b.version && a.plural === b.plural;

/** An index of cached objects by values derived from them. */
export interface NamedIndex {
  readonly kind: Kind;
  readonly name: string;
  values(object: Frozen<KubeObject>): readonly string[];
}

/**
 * Declares an index: `index(Backup, 'secret', backup => [backup.spec.credentials])` enables `caches.by(Backup,
 * 'secret', name)`. It is created with the controller and filled in slices as objects arrive. `values` is called for
 * each version of an object, and must be fast.
 */
export const index = <T extends KubeObject>(kind: Kind<T>, name: string, values: (object: Frozen<T>) => readonly string[]): NamedIndex => ({
  kind,
  name,
  values: values as NamedIndex['values'],
});
