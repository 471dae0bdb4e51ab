import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {Column} from '#src/resources/definition.js';
import type {PodTemplate} from './template.js';

// Table columns and cells that workloads share.

const joined = (template: PodTemplate | undefined, field: 'name' | 'image'): string =>
  (template?.spec?.containers ?? []).map(container => container[field] ?? '').join(',');

/** Returns the two wide columns with the containers and images of a workload. */
export const containerColumns = <T extends KubeObject>(
  templateOf: (object: Readonly<T>) => PodTemplate | undefined,
): readonly Column<T>[] => [
  {
    name: 'Containers',
    description: 'Names of each container in the template.',
    priority: 1,
    of: object => joined(templateOf(object), 'name'),
  },
  {
    name: 'Images',
    description: 'Images referenced by each container in the template.',
    priority: 1,
    of: object => joined(templateOf(object), 'image'),
  },
];

/** Formats a label selector for tables. */
export const selectorCell = (selector: LabelSelectorObject | undefined, malformed = '<error>', empty = '<none>'): string => {
  try {
    return (selector ? labelSelectorOf(selector).toString() : '') || empty;
  } catch {
    return malformed;
  }
};

/** Formats labels for tables. */
export const labelsCell = (labels: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',') || '<none>';
