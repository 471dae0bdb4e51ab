import type {Frozen} from '#src/api/key.js';
import {labelSelectorOf, nothing, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {Index, Lister} from './lister.js';

/** Finds the parents of a kind, such as services or replica sets, by the labels that they select. */
export interface Selecting<T extends KubeObject> {
  /** The index of parents that lookups use. */
  readonly index: Index<T>;
  /** Returns the parent's selector; undefined if it is invalid. */
  selectorOf(parent: Frozen<T>): LabelSelector | undefined;
  /**
   * Returns the parents in the child's namespace that select its labels. An empty or invalid selector selects nothing.
   */
  parentsOf(lister: Lister<T>, child: Frozen<KubeObject>): readonly Frozen<T>[];
}

const anyLabels = (namespace: string): string => `${namespace} any`;
const label = (namespace: string, key: string, value: string): string => `${namespace} ${key}=${value}`;

/**
 * Returns the selecting of a kind of parent. Parents are indexed by one label that their selector requires, so that few
 * are checked for each child. `written` returns a parent's selector as written, `read` parses it (or throws). Created
 * once for a kind, at module level.
 */
export const selecting = <T extends KubeObject, W extends object = LabelSelectorObject>(
  written: (parent: Frozen<T>) => Frozen<W> | undefined,
  read: (selector: Frozen<W>) => LabelSelector = labelSelectorOf as (selector: Frozen<W>) => LabelSelector,
): Selecting<T> => {
  const known = new WeakMap<object, {readonly selector: LabelSelector | undefined}>();
  const tried = (selector: Frozen<W>): LabelSelector | undefined => {
    try {
      return read(selector);
    } catch {
      return undefined;
    }
  };
  const selectorOf = (parent: Frozen<T>): LabelSelector | undefined => {
    const selector = written(parent);
    if (!selector) return nothing;
    let entry = known.get(selector);
    if (!entry) known.set(selector, (entry = {selector: tried(selector)}));
    return entry.selector;
  };
  const index: Index<T> = {
    name: 'selected label',
    values(parent) {
      const namespace = parent.metadata?.namespace ?? '';
      const selector = selectorOf(parent);
      if (!selector || selector.empty) return [];
      const demanded = selector.requirements.find(({operator}) => operator === '=' || operator === 'in');
      return demanded ? demanded.values.map(value => label(namespace, demanded.key, value)) : [anyLabels(namespace)];
    },
  };
  return {
    index,
    selectorOf,
    parentsOf(lister, {metadata}) {
      const {namespace = '', labels = {}} = metadata ?? {};
      const parents: Frozen<T>[] = [];
      const addFrom = (bucket: string): void => {
        for (const parent of lister.by(index, bucket)) if (selectorOf(parent)?.matches(labels)) parents.push(parent);
      };
      addFrom(anyLabels(namespace));
      for (const key of Object.keys(labels)) addFrom(label(namespace, key, labels[key]!));
      return parents;
    },
  };
};
