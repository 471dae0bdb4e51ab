import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import {slowStart, type Started} from './slow-start.js';

/** Where changes of pods are expected, and for which parent. */
interface Expecting {
  readonly key: string;
  readonly expected: TrackingExpectations;
}

/** Calls `create` for pods that are expected, until calls fail, and lowers the expectations by the pods that were not created. */
export const createExpected = async (
  count: number,
  create: (index: number) => Promise<unknown>,
  {key, expected}: Expecting,
): Promise<Started> => {
  const started = await slowStart(count, async index => {
    try {
      await create(index);
    } catch (failure) {
      // Nothing can be created in a terminating namespace.
      if (!hasCause(failure, 'NamespaceTerminating')) throw failure;
    }
  });
  expected.created(key, count - started.successes);
  return started;
};

/** Calls `remove` for pods whose deletion is expected, and lowers the expectations by those that were not deleted. Returns the failures; that a pod is gone is none. */
export const deleteExpected = async (
  pods: readonly Frozen<Pod>[],
  remove: (pod: Frozen<Pod>) => Promise<unknown>,
  {key, expected}: Expecting,
): Promise<unknown[]> => {
  const failures: unknown[] = [];
  await Promise.all(
    pods.map(async pod => {
      try {
        await remove(pod);
      } catch (error) {
        expected.deleted(key, keyText(keyOf(pod)));
        if (!isNotFound(error)) failures.push(error);
      }
    }),
  );
  return failures;
};
