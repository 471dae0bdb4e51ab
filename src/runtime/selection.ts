import {controllerNames, isControllerEnabled, isControllerNamed, validateSelection} from '#src/options/controller-names.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Controller} from './controller.js';

/** The controllers that a `--controllers` list selects. */
export interface ControllerSelection {
  readonly selected: readonly Controller[];
  /** Names that `*` would select, but that are not part of this build. */
  readonly missing: readonly string[];
}

/** Throws when a declaration has an empty name or a name occurs twice: a mistake of the program, not of its user. */
export const checkNames = (controllers: readonly Controller[]): void => {
  const names = new Set<string>();
  for (const {name} of controllers) {
    if (!name) throw new Error('a controller has no name');
    if (names.has(name)) throw new Error(`controller ${name} is declared twice`);
    names.add(name);
  }
};

/**
 * Selects among `available`, keeping the order. Throws for an unknown name, and for a name that is selected explicitly
 * but not part of this build.
 */
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

/** Returns what a controller of that name requires before it may run: feature gates, and a cloud provider. */
export const requirementsOf = (name: string): {readonly gates: readonly GateName[]; readonly cloud: boolean} => {
  const {gates = [], cloud = false} = controllerNames.find(entry => entry.name === name) ?? {};
  return {gates, cloud};
};
