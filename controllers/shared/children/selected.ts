// Finds the objects that a selector matches by an index of labels, so that a reconcile does not visit all objects of a
// namespace.

import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {LabelOperator} from '#src/api/selectors/requirement.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';

/** Operators with the values that a label may have. */
const valueOperators: readonly LabelOperator[] = ['=', '==', 'in'];

/** Returns the labels that a selector requires, each with its possible values. */
export const demandedLabels = ({requirements}: LabelSelector) =>
  requirements.filter(({operator}) => valueOperators.includes(operator)).map(({key, values}) => ({key, values: [...new Set(values)]}));

const labelKey = (namespace: string, label: string, value: string): string => `${namespace} ${label}=${value}`;

/** Objects by namespace, and by each of their labels. */
const byLabel = <T extends KubeObject>(name: string, isMeant: (object: Frozen<T>) => boolean): Index<T> => ({
  name,
  values(object) {
    if (!isMeant(object)) return [];
    const {namespace = '', labels = {}} = object.metadata ?? {};
    return [namespace, ...Object.entries(labels).map(([label, value]) => labelKey(namespace, label, value))];
  },
});

/**
 * Returns the objects that a selector matches, using the required label that the fewest objects have. Without a
 * required label all objects of the namespace are checked.
 */
const selected = <T extends KubeObject>(
  lister: Lister<T>,
  index: Index<T>,
  namespace: string,
  selector: LabelSelector,
): readonly Frozen<T>[] => {
  const countOf = (labelKeys: readonly string[]): number => labelKeys.reduce((sum, each) => sum + lister.count(index, each), 0);
  const requiredLabels = demandedLabels(selector).map(({key, values}) => values.map(value => labelKey(namespace, key, value)));
  const [first = [namespace], ...others] = requiredLabels;
  const rarest = others.length === 0 ? first : requiredLabels.reduce((best, each) => (countOf(each) < countOf(best) ? each : best));
  const found = rarest.flatMap(each => lister.by(index, each));
  return requiredLabels.length === 1 && selector.requirements.length === 1
    ? found
    : found.filter(({metadata}) => selector.matches(metadata?.labels));
};

/** Pods by namespace, and by each of their labels. */
export const podsByLabel = byLabel<Pod>('label', () => true);
const orphansByLabel = byLabel<KubeObject>('label of orphans', object => controllerOf(object) === undefined);

/** Creates the index of orphans in a cache that is still empty: later it would have to visit all objects. */
export const indexOrphans = (lister: Lister): number => lister.count(orphansByLabel, '');

/** Returns the pods of a namespace that a selector matches. */
export const selectedPods = (pods: Lister<Pod>, namespace: string, selector: LabelSelector): readonly Frozen<Pod>[] =>
  selected(pods, podsByLabel, namespace, selector);

/** Returns the objects of a namespace without a controller that a selector matches. */
export const selectedOrphans = <T extends KubeObject>(
  lister: Lister<T>,
  namespace: string,
  selector: LabelSelector,
): readonly Frozen<T>[] => selected(lister, orphansByLabel as Index<T>, namespace, selector);
