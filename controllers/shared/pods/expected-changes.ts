import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlannedPod, PodNames} from './pod-names.js';
import {slowStart, type Started} from './slow-start.js';

/** Where changes of pods are expected, and for which parent. */
interface Expecting {
  readonly key: string;
  readonly expected: TrackingExpectations;
}

/**
 * Calls `create` for pods that were just expected, until calls fail, and lowers the expectations by the pods that were
 * not created. One whose creation may have succeeded all the same is created under the same name the next time.
 */
export const createExpected = async (
  planned: readonly PlannedPod[],
  create: (pod: PlannedPod, index: number) => Promise<unknown>,
  {parent, key, expected, names}: Expecting & {readonly parent: Frozen<KubeObject>; readonly names: PodNames},
): Promise<Started> => {
  const left = new Set(planned);
  const skipped = new Set(planned);
  const started = await slowStart(planned.length, async index => {
    const pod = planned[index]!;
    skipped.delete(pod);
    try {
      await create(pod, index);
    } catch (failure) {
      names.notCreated(parent, pod, failure);
      // Nothing can be created in a terminating namespace.
      if (!hasCause(failure, 'NamespaceTerminating')) throw failure;
    }
    left.delete(pod);
  });
  for (const pod of skipped) names.notCreated(parent, pod);
  for (const pod of left) expected.created(key, pod.key);
  return started;
};

/**
 * Calls `remove` for pods whose deletion is expected, and lowers the expectations by those that were not deleted.
 * Returns the failures; that a pod is gone is none.
 */
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
