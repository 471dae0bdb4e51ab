import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {LabelOperator} from '#src/api/selectors/requirement.js';

const shelf = (namespace: string, label: string, value: string): string => `${namespace} ${label}=${value}`;

const podsByLabel: Index<Pod> = {
  name: 'label',
  values: ({metadata}) => Object.entries(metadata?.labels ?? {}).map(([label, value]) => shelf(metadata?.namespace ?? '', label, value)),
};

/** Operators that name the values a label may have. */
const naming: readonly LabelOperator[] = ['=', '==', 'in'];

/** The labels that a selector demands, each with the values it may have. */
export const demandedLabels = ({requirements}: LabelSelector) => requirements.filter(({operator}) => naming.includes(operator)).map(({key, values}) => ({key, values: [...new Set(values)]}));

/**
 * The pods of a namespace that a selector describes, found under the one of the labels it demands that fewest pods carry. All pods of the namespace are looked at where it
 * demands no label of certain values.
 */
export const selectedPods = (pods: Lister<Pod>, namespace: string, selector: LabelSelector): readonly Frozen<Pod>[] => {
  const demands = demandedLabels(selector).map(({key, values}) => values.map(value => shelf(namespace, key, value)));
  const countOf = (shelves: readonly string[]): number => shelves.reduce((sum, each) => sum + pods.count(podsByLabel, each), 0);
  const [first, ...others] = demands;
  if (!first) return pods.list(namespace).filter(({metadata}) => selector.matches(metadata?.labels));
  const rarest = others.length === 0 ? first : demands.reduce((best, each) => (countOf(each) < countOf(best) ? each : best));
  const found = rarest.flatMap(each => pods.by(podsByLabel, each));
  return selector.requirements.length === 1 ? found : found.filter(({metadata}) => selector.matches(metadata?.labels));
};
