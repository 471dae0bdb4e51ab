import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** A kind with selectors: the part of a collection that one informer watches. */
export interface Selection<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly namespace?: string | ((naming: Naming) => string);
  readonly labelSelector?: string | ((naming: Naming) => string);
  readonly fieldSelector?: string | ((naming: Naming) => string);
  /** Whether only metadata is requested and kept. */
  readonly metadataOnly?: true;
  /** The name of another cluster, whose objects they are. */
  readonly cluster?: string;
  /** What the cache keeps of each object; everything but `managedFields` if missing. */
  readonly shape?: Shape<T>;
}

/**
 * What a cache keeps of each object, for kinds of which there may be more than fit into memory. Created once, at module
 * level.
 */
export interface Shape<T extends KubeObject> {
  /** Unique among the shapes of a kind. */
  readonly name: string;
  /**
   * Returns the part to keep, with all metadata; `held` is the number of objects that the cache holds already. The
   * object itself must not be changed.
   */
  of(object: Frozen<T>, held: number): Frozen<T>;
}
/** What a cache holds: a kind, or a part of its collection. */
export type Source<T extends KubeObject = KubeObject> = Kind<T> | Selection<T>;

const isSelection = <T extends KubeObject>(source: Source<T>): source is Selection<T> => typeof source.kind === 'object';

/** A selection with the names of one naming; `id` is unique to it. */
export interface ResolvedSelection<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: true;
  readonly cluster?: string;
  readonly shape?: Shape<T>;
  readonly id: string;
}

/** Resolves a source with the names of `naming`. */
export const resolveSelection = <T extends KubeObject>(source: Source<T>, naming: Naming): ResolvedSelection<T> => {
  const selection: Selection<T> = isSelection(source) ? source : {kind: source};
  const {group, version, plural} = selection.kind;
  const parts: {namespace?: string; labelSelector?: string; fieldSelector?: string} = {};
  for (const name of ['namespace', 'labelSelector', 'fieldSelector'] as const) {
    const given = selection[name];
    const text = typeof given === 'function' ? given(naming) : given;
    if (text) parts[name] = text;
  }
  const {metadataOnly, cluster, shape} = selection;
  return {
    kind: selection.kind,
    ...parts,
    ...(metadataOnly ? {metadataOnly} : {}),
    ...(cluster === undefined ? {} : {cluster}),
    ...(shape ? {shape} : {}),
    id: JSON.stringify([
      group,
      version,
      plural,
      parts.namespace,
      parts.labelSelector,
      parts.fieldSelector,
      metadataOnly,
      shape?.name,
      cluster,
    ]),
  };
};
