import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';

/** Under what the orphans of a namespace are found. */
export const orphansOf = (namespace: string | undefined): string => `orphans of ${namespace ?? ''}`;

/** Under what an object is found: the UID of its controller, or the orphans of its namespace. */
export const homeOf = (object: Frozen<KubeObject>): string => controllerOf(object)?.uid ?? orphansOf(object.metadata?.namespace);

/** Files objects under the UID of their controller, and those without one by their namespace. */
const byController: Index = {
  name: 'controller',
  values: object => [homeOf(object)],
};

/** The objects that `parent` controls, whatever their labels say by now. */
export const controlledBy = <T extends KubeObject>(lister: Lister<T>, {metadata}: Frozen<KubeObject>): readonly Frozen<T>[] =>
  lister.by(byController as Index<T>, metadata?.uid ?? '');

/** How many objects `parent` controls. */
export const countOf = (lister: Lister, {metadata}: Frozen<KubeObject>): number => lister.count(byController, metadata?.uid ?? '');

/** All that a parent has to look at to know its children: those it controls, and every orphan of its namespace. */
export const possibleChildren = <T extends KubeObject>(lister: Lister<T>, parent: Frozen<KubeObject>): readonly Frozen<T>[] => [
  ...controlledBy(lister, parent),
  ...lister.by(byController as Index<T>, orphansOf(parent.metadata?.namespace)),
];
