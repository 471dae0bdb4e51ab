import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';
import {indexOrphans, selectedOrphans} from './selected.js';

/** Indexes objects by the UID of their controller. */
const byController: Index = {
  name: 'controller',
  values(object) {
    const {uid} = controllerOf(object) ?? {};
    return uid === undefined ? [] : [uid];
  },
};

/** Returns the objects that `parent` controls, regardless of their labels. */
export const controlledBy = <T extends KubeObject>(lister: Lister<T>, {metadata}: Frozen<KubeObject>): readonly Frozen<T>[] =>
  lister.by(byController as Index<T>, metadata?.uid ?? '');

/** Returns how many objects `parent` controls. */
export const countOf = (lister: Lister, {metadata}: Frozen<KubeObject>): number => lister.count(byController, metadata?.uid ?? '');

/** Creates the indexes for children in a cache that is still empty: later they would have to visit all objects. */
export const indexingChildren = <T extends KubeObject>(lister: Lister<T>): Lister<T> => {
  lister.count(byController as Index<T>, '');
  indexOrphans(lister as unknown as Lister);
  return lister;
};

/** Returns the possible children of a parent: those it controls, and the orphans in its namespace that it selects. */
export const possibleChildren = <T extends KubeObject>(
  lister: Lister<T>,
  parent: Frozen<KubeObject>,
  selector: LabelSelector,
): readonly Frozen<T>[] => [...controlledBy(lister, parent), ...selectedOrphans(lister, parent.metadata?.namespace ?? '', selector)];
