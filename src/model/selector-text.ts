import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';

/** Formats a selector for messages and tables: nil, or with all fields. */
export const selectorText = (selector: LabelSelectorObject | undefined): string => {
  if (!selector) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const matchLabels = labels.map(([key, value]) => `${key}: ${value},`).join('');
  const expressions = (selector.matchExpressions ?? [])
    .map(({key, operator, values = []}) => `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`)
    .join('');
  return `&LabelSelector{MatchLabels:map[string]string{${matchLabels}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
};
