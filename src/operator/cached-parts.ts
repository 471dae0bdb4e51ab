import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {parseFieldSelector} from '#src/api/selectors/field-selector.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {CachedPart} from './own-writes.js';
import {partsOf, type ManagerScope, type Reader} from './scope.js';
import {clusterOf, kindOf, type Source} from './sources.js';

/** A part of the caches of a controller, with the source that its changes come from. */
export interface SourcePart extends CachedPart {
  readonly source: Source;
}

/** Returns the parts of the caches of a controller, of which each is one collection or a part of one. */
export const cachedParts = (sources: readonly Source[], scope: ManagerScope, readerOf: (part: Source) => Reader): readonly SourcePart[] =>
  sources
    .flatMap(source => partsOf(source, scope))
    .map(source => {
      const reader = readerOf(source as Source);
      return {
        source: source as Source,
        kind: kindOf(source),
        cluster: clusterOf(source as Source),
        holds: selectedBy(source as Source),
        get: (key: ObjectKey) => reader.get(key),
      };
    });

/** Returns the test whether an object is in a source. */
const selectedBy = (source: Source): ((object: Frozen<KubeObject>) => boolean) => {
  if (typeof source.kind !== 'object') return () => true;
  const {namespace, labelSelector = '', fieldSelector = ''} = source as Exclude<Source, {readonly kind: string}>;
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  return object =>
    (!namespace || keyOf(object).namespace === namespace) &&
    labels.matches(object.metadata?.labels) &&
    fields.matches(path => textAt(object, path));
};

/** Returns the text of a selectable field. */
const textAt = (object: unknown, path: string): string | undefined => {
  const value = path.split('.').reduce<unknown>((at, field) => (at as Record<string, unknown> | undefined)?.[field], object);
  return value === undefined || value === null ? undefined : String(value as string | number | boolean);
};
