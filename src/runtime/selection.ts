import {controllerNames, isControllerEnabled, isControllerNamed, validateSelection} from '#src/options/controller-names.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Controller} from './controller.js';

/** What a `--controllers` list makes of the controllers there are. */
export interface ControllerSelection {
  readonly selected: readonly Controller[];
  /** Names that `*` would choose, but which this build does not have. */
  readonly missing: readonly string[];
}

/** Refuses a list of declarations in which a name is empty or occurs twice: a mistake of the program, not of its user. */
export const checkNames = (controllers: readonly Controller[]): void => {
  const names = new Set<string>();
  for (const {name} of controllers) {
    if (!name) throw new Error('a controller has no name');
    if (names.has(name)) throw new Error(`controller ${name} is declared twice`);
    names.add(name);
  }
};

/** Chooses among `built`, in its order. Throws on an unknown name, and on a name asked for that is not built. */
export const selectControllers = (available: readonly Controller[], items: readonly string[]): ControllerSelection => {
  checkNames(available);
  const error = validateSelection(items);
  if (error !== undefined) throw new Error(error);
  const has = new Set(available.map(({name}) => name));
  const absent = controllerNames.map(({name}) => name).filter(name => !has.has(name) && isControllerEnabled(name, items));
  const named = absent.find(name => isControllerNamed(name, items));
  if (named !== undefined) throw new Error(`controller "${named}" is not built into this version`);
  return {selected: available.filter(({name}) => isControllerEnabled(name, items)), missing: absent};
};

/** What has to be given before a controller of that name may run. */
export const requirementsOf = (name: string): {readonly gates: readonly GateName[]; readonly cloud: boolean} => {
  const {gates = [], cloud = false} = controllerNames.find(entry => entry.name === name) ?? {};
  return {gates, cloud};
};
