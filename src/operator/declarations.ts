import type {Source} from './sources.js';

/** The part of a declaration from which rights follow. */
export interface DeclaredSources {
  readonly primary: Source;
  /** Whether the controller owns objects. */
  readonly owns: boolean;
}

/** The declarations of controllers, kept apart from the public types. */
const declarations = new WeakMap<object, DeclaredSources>();

export const keepDeclaration = (controller: object, declared: DeclaredSources): void => void declarations.set(controller, declared);

/** Returns what a controller declares. Throws for an object that `defineController` did not return. */
export const declarationOf = (controller: {readonly name: string}): DeclaredSources => {
  const found = declarations.get(controller);
  if (!found) throw new TypeError(`controller ${controller.name}: declare it with defineController`);
  return found;
};

/** Whether a text can be the name of a controller or a runnable. */
export const isName = (name: string): boolean => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
