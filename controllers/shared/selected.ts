import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {LabelOperator} from '#src/api/selectors/requirement.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';

/** Operators that name the values a label may have. */
const valueOperators: readonly LabelOperator[] = ['=', '==', 'in'];

/** The labels that a selector demands, each with the values it may have. */
export const demandedLabels = ({requirements}: LabelSelector) => requirements.filter(({operator}) => valueOperators.includes(operator)).map(({key, values}) => ({key, values: [...new Set(values)]}));

const labelKey = (namespace: string, label: string, value: string): string => `${namespace} ${label}=${value}`;

/** Objects by their namespace, and by each of their labels. */
const byLabel = <T extends KubeObject>(name: string, isMeant: (object: Frozen<T>) => boolean): Index<T> => ({
  name,
  values(object) {
    if (!isMeant(object)) return [];
    const {namespace = '', labels = {}} = object.metadata ?? {};
    return [namespace, ...Object.entries(labels).map(([label, value]) => labelKey(namespace, label, value))];
  },
});

/** The objects that a selector describes, found under the one of the labels it demands that fewest carry. All of the namespace are looked at where it demands no label of certain values. */
const selected = <T extends KubeObject>(lister: Lister<T>, index: Index<T>, namespace: string, selector: LabelSelector): readonly Frozen<T>[] => {
  const countOf = (labelKeys: readonly string[]): number => labelKeys.reduce((sum, each) => sum + lister.count(index, each), 0);
  const requiredLabels = demandedLabels(selector).map(({key, values}) => values.map(value => labelKey(namespace, key, value)));
  const [first = [namespace], ...others] = requiredLabels;
  const rarest = others.length === 0 ? first : requiredLabels.reduce((best, each) => (countOf(each) < countOf(best) ? each : best));
  const found = rarest.flatMap(each => lister.by(index, each));
  return requiredLabels.length === 1 && selector.requirements.length === 1 ? found : found.filter(({metadata}) => selector.matches(metadata?.labels));
};

const podsByLabel = byLabel<Pod>('label', () => true);
const orphansByLabel = byLabel<KubeObject>('label of orphans', object => controllerOf(object) === undefined);

/** Lets a cache that is still empty file its orphans from the start: later it takes a look at all objects at once. */
export const indexOrphans = (lister: Lister): number => lister.count(orphansByLabel, '');

/** The pods of a namespace that a selector describes. */
export const selectedPods = (pods: Lister<Pod>, namespace: string, selector: LabelSelector): readonly Frozen<Pod>[] => selected(pods, podsByLabel, namespace, selector);

/** The objects of a namespace that nothing controls and that a selector describes. */
export const selectedOrphans = <T extends KubeObject>(lister: Lister<T>, namespace: string, selector: LabelSelector): readonly Frozen<T>[] =>
  selected(lister, orphansByLabel as Index<T>, namespace, selector);
