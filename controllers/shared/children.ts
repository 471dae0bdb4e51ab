import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';
import {indexOrphans, selectedOrphans} from './selected.js';

/** Files objects under the UID of their controller. */
const byController: Index = {
  name: 'controller',
  values(object) {
    const {uid} = controllerOf(object) ?? {};
    return uid === undefined ? [] : [uid];
  },
};

/** The objects that `parent` controls, whatever their labels say by now. */
export const controlledBy = <T extends KubeObject>(lister: Lister<T>, {metadata}: Frozen<KubeObject>): readonly Frozen<T>[] =>
  lister.by(byController as Index<T>, metadata?.uid ?? '');

/** How many objects `parent` controls. */
export const countOf = (lister: Lister, {metadata}: Frozen<KubeObject>): number => lister.count(byController, metadata?.uid ?? '');

/** A cache, still empty, that files possible children from the start: later it takes a look at all objects at once. */
export const indexingChildren = <T extends KubeObject>(lister: Lister<T>): Lister<T> => {
  lister.count(byController as Index<T>, '');
  indexOrphans(lister as unknown as Lister);
  return lister;
};

/** All that a parent has to look at to know its children: those it controls, and the orphans of its namespace that it selects. */
export const possibleChildren = <T extends KubeObject>(lister: Lister<T>, parent: Frozen<KubeObject>, selector: LabelSelector): readonly Frozen<T>[] => [
  ...controlledBy(lister, parent),
  ...selectedOrphans(lister, parent.metadata?.namespace ?? '', selector),
];
