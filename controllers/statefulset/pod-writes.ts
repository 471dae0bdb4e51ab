import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {hasCause, isAlreadyExists, isConflict} from '#src/api/status.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {hasIdentity, hasStorage, withIdentity, withStorage} from './identity.js';
import {waitingPodsLimit, type WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import type {StatefulSet} from './kinds.js';
import type {Storage} from './storage.js';

/** Creates, updates and deletes the pods of a set, and records events on the set. */
export interface PodWrites {
  /** Creates the claims of the pod and then the pod. Rejects, without an event, if the pod exists. */
  create(set: StatefulSet, pod: Pod): Promise<void>;
  /** Whether name, labels, volumes and claims of the pod match the set. */
  isUpToDate(set: StatefulSet, pod: Frozen<Pod>): boolean;
  /** Updates the pod to match the set, with retries on conflicts. */
  repair(set: StatefulSet, pod: Frozen<Pod>): Promise<void>;
  delete(set: StatefulSet, pod: Frozen<Pod>): Promise<void>;
}

type Verb = 'create' | 'update' | 'delete';
const reasons: Readonly<Record<Verb, string>> = {create: 'Create', update: 'Update', delete: 'Delete'};

/** The attempts to write a change on conflicts. */
const maxAttempts = 4;

export const podWrites = (context: KeyedContext<WaitingPodsOptions>, claims: Storage): PodWrites => {
  const {writer, client, events, naming} = context;
  const check = waitingPodsLimit(context);
  const pods = writer(kinds.pods);
  const recordOutcome = async (verb: Verb, set: StatefulSet, pod: Frozen<Pod>, act: () => Promise<unknown>): Promise<void> => {
    const what = `${reasons[verb]} Pod ${pod.metadata?.name} in StatefulSet ${set.metadata?.name}`;
    try {
      await act();
    } catch (error) {
      const isExpected = verb === 'create' && (isAlreadyExists(error) || hasCause(error, 'NamespaceTerminating'));
      if (!isExpected) events.warning(set, `Failed${reasons[verb]}`, `${what} failed error: ${messageOf(error)}`);
      throw error;
    }
    events.normal(set, `Successful${reasons[verb]}`, `${what} successful`);
  };

  /** Returns the pod updated to match the set, after updating its claims; undefined if there was nothing to do. */
  const repaired = async (set: StatefulSet, pod: Frozen<Pod>): Promise<Frozen<Pod> | undefined> => {
    let next = pod;
    if (!hasIdentity(set, next, naming)) next = withIdentity(set, next, naming);
    if (!hasStorage(set, next)) {
      next = withStorage(set, next);
      await claims.create(set, next);
    }
    const hasRightOwners = claims.hasRightOwners(set, pod);
    if (!hasRightOwners) await claims.setOwners(set, pod);
    return next === pod && hasRightOwners ? undefined : next;
  };

  const repairOn = async (set: StatefulSet, pod: Frozen<Pod>): Promise<void> => {
    let latest = pod;
    for (let attempt = 1; ; attempt++) {
      const next = await repaired(set, latest);
      if (!next) return;
      try {
        await pods.update(next as Pod);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt >= maxAttempts) throw error;
      }
      const {namespace, name} = keyOf(pod);
      latest = await client.resource(kinds.pods).get(name, {namespace});
    }
  };

  return {
    create: (set, pod) =>
      recordOutcome('create', set, pod, async () => {
        check();
        await claims.create(set, pod);
        await pods.create(pod);
        await claims.setOwners(set, pod);
      }),
    isUpToDate: (set, pod) => hasIdentity(set, pod, naming) && hasStorage(set, pod) && claims.hasRightOwners(set, pod),
    repair: (set, pod) => recordOutcome('update', set, pod, () => repairOn(set, pod)),
    delete: (set, pod) => recordOutcome('delete', set, pod, () => pods.delete(pod)),
  };
};
