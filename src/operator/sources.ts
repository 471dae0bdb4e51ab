// What a controller reads: sources (a kind, or a part of a collection), keys and indexes.

import type {Selection, Source} from '#informers/selection.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';

export type {Selection, Source};

/** Selectors of a part of a collection. */
export type SelectionOptions = Pick<Selection, 'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'>;

/**
 * Caches and watches only a part of a collection: `selection(Secret, {labelSelector: 'app=backup'})`. With
 * `metadataOnly` only metadata is requested and kept.
 */
export const selection = <T extends KubeObject>(kind: Kind<T>, options: SelectionOptions): Selection<T> => ({...options, kind});

/** The kind of a source. */
export const kindOf = <T extends KubeObject>(source: Source<T>): Kind<T> =>
  typeof source.kind === 'object' ? source.kind : (source as Kind<T>);

/** A name in the namespace of the object at hand, or a whole key. */
export type KeyLike = string | Partial<ObjectKey>;

/** The whole key; of a name alone, in no namespace. */
export const objectKey = (key: KeyLike): ObjectKey =>
  typeof key === 'string' ? {namespace: '', name: key} : {namespace: '', name: '', ...key};

/** Whether two kinds are served under the same path. */
export const sameKind = (a: Kind, b: Kind): boolean => a.group === b.group && a.version === b.version && a.plural === b.plural;

/** An index of cached objects by values derived from them. */
export interface NamedIndex {
  readonly kind: Kind;
  readonly name: string;
  values(object: Frozen<KubeObject>): readonly string[];
}

/**
 * Declares an index: `index(Backup, 'secret', backup => [backup.spec.credentials])` lets `caches.by(Backup, 'secret',
 * name)` find them. It is created with the controller and filled in slices as objects arrive. `values` is called for
 * each state of an object, and must be quick.
 */
export const index = <T extends KubeObject>(kind: Kind<T>, name: string, values: (object: Frozen<T>) => readonly string[]): NamedIndex => ({
  kind,
  name,
  values: values as NamedIndex['values'],
});
