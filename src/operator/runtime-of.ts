import type {KeyedController} from '#src/runtime/controller.js';
import type {ManagerScope} from './scope.js';

/** A declared controller. */
interface Declared {
  readonly name: string;
}

/**
 * The runtime forms of declared controllers, kept in a separate map so that the public types do not include the
 * runtime's.
 */
const runtimes = new WeakMap<Declared, (scope: ManagerScope) => KeyedController>();

export const register = (controller: Declared, runtime: (scope: ManagerScope) => KeyedController): void =>
  void runtimes.set(controller, runtime);

/** Returns the runtime form of a declared controller. Throws for an object that `defineController` did not return. */
export const runtimeOf = (controller: Declared, scope: ManagerScope): KeyedController => {
  const runtime = runtimes.get(controller);
  if (!runtime) throw new TypeError(`controller ${controller.name}: declare it with defineController`);
  return runtime(scope);
};
