import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** A kind, or the part of it that one informer follows. */
export interface Selection<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly namespace?: string | ((naming: Naming) => string);
  readonly labelSelector?: string | ((naming: Naming) => string);
  readonly fieldSelector?: string | ((naming: Naming) => string);
  /** Whether nothing but metadata is asked for and kept. */
  readonly metadataOnly?: true;
}
export type Source<T extends KubeObject = KubeObject> = Kind<T> | Selection<T>;

const isSelection = <T extends KubeObject>(source: Source<T>): source is Selection<T> => typeof source.kind === 'object';

/** A selection in the words of one naming, with the text that tells it from all others. */
export interface ResolvedSelection<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: true;
  readonly id: string;
}

/** What `source` means under `naming`. */
export const resolveSelection = <T extends KubeObject>(source: Source<T>, naming: Naming): ResolvedSelection<T> => {
  const selection: Selection<T> = isSelection(source) ? source : {kind: source};
  const {group, version, plural} = selection.kind;
  const parts: {namespace?: string; labelSelector?: string; fieldSelector?: string} = {};
  for (const name of ['namespace', 'labelSelector', 'fieldSelector'] as const) {
    const given = selection[name];
    const text = typeof given === 'function' ? given(naming) : given;
    if (text) parts[name] = text;
  }
  const shape = selection.metadataOnly ? {metadataOnly: true as const} : {};
  return {
    kind: selection.kind,
    ...parts,
    ...shape,
    id: JSON.stringify([group, version, plural, parts.namespace, parts.labelSelector, parts.fieldSelector, selection.metadataOnly]),
  };
};
