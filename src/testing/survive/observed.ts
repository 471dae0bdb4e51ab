import type {ObjectKey} from '#src/api/key.js';
import type {OperatorController} from '#src/operator/index.js';
import {register, runtimeOf} from '#src/operator/runtime-of.js';
import type {Loop, Loops, Reconcile} from '#src/runtime/controller.js';
import type {Result} from '#src/runtime/result.js';

/** Runs a reconcile of a controller, and sees what becomes of it. */
export type Observer = (controller: string, key: ObjectKey, reconcile: () => Promise<Result>) => Promise<Result>;

/** Returns a controller that does the same, with each of its reconciles under observation. */
export const observed = (controller: OperatorController, observe: Observer): OperatorController => {
  const copy: OperatorController = {...controller};
  register(copy, scope => {
    const runtime = runtimeOf(controller, scope);
    const around =
      (reconcile: Reconcile): Reconcile =>
      (key, attempt) =>
        observe(controller.name, key, () => reconcile(key, attempt));
    return {
      ...runtime,
      async create(context) {
        const made = await runtime.create(context);
        if (typeof made === 'function') return around(made);
        const loops: Loops = Object.fromEntries(
          Object.entries(made).map(([name, loop]): [string, Reconcile | Loop] => [
            name,
            typeof loop === 'function' ? around(loop) : {...loop, reconcile: around(loop.reconcile)},
          ]),
        );
        return loops;
      },
    };
  });
  return copy;
};
