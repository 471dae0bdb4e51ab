import {defineLongRunning, type Controller, type KeyedController} from '#src/runtime/controller.js';
import {isName} from './declarations.js';
import type {Runnable} from './runnables.js';
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

/** Returns the runtime form of a controller or a runnable. Throws a `TypeError` for an invalid one. */
export const managedOf = (each: Declared | Runnable, scope: ManagerScope): Controller => {
  if (!('start' in each)) return runtimeOf(each, scope);
  const {name, needsLeaderElection = true} = each;
  if (!isName(name)) throw new TypeError(`runnable name "${name}": use lower case letters, digits, - and .`);
  return defineLongRunning({
    doc: 'Runs beside controllers.',
    name,
    isEverywhere: !needsLeaderElection,
    isEssential: true,
    create:
      ({clock, log}) =>
      async signal =>
        each.start({signal, clock, log}),
  });
};
