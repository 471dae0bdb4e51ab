import {aggregate} from '#controllers/shared/aggregate.js';
import {isNotFound} from '#src/api/status.js';
import {orphanFinalizer} from './graph.js';
import {identityText} from './identity.js';
import {withoutOwners, type Live} from './live.js';
import type {Node} from './node.js';

/** How many dependents are patched concurrently. */
const concurrency = 50;

/**
 * Removes an owner from its dependents, and then its orphan finalizer. Rejects if a dependent could not be patched; the
 * owner stays then.
 */
export const orphan = async (owner: Node, live: Live): Promise<void> => {
  const {identity} = owner;
  const patch = withoutOwners([identity.uid]);
  const failures: unknown[] = [];
  const dependents = [...owner.dependents].values();
  const worker = async () => {
    for (const dependent of dependents) {
      try {
        await live.patchOwners(dependent.identity, patch);
      } catch (error) {
        if (!isNotFound(error))
          failures.push(new Error(`orphaning ${identityText(dependent.identity)} failed, ${(error as Error).message}`, {cause: error}));
      }
    }
  };
  await Promise.all(Array.from({length: concurrency}, worker));
  const failure = aggregate(failures);
  if (failure)
    throw new Error(`failed to orphan dependents of owner ${identityText(identity)}, got errors: ${failure.message}`, {cause: failure});
  await live.removeFinalizer(identity, orphanFinalizer);
};
