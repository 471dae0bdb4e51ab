import {aggregate} from '#controllers/shared/aggregate.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {podControl} from '#controllers/shared/pods/pod-control.js';
import {slowStart} from '#controllers/shared/pods/slow-start.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {DaemonSet} from './kinds.js';
import {templateFor} from './placement.js';
import type {PodChanges} from './sync.js';

/** The most pods created, and the most deleted, in one sync. */
const burst = 250;

/** Creates and deletes pods, and sets expectations. Rejects with all failures after everything has been tried. */
export type PodWriter = (set: DaemonSet, hash: string, changes: PodChanges) => Promise<void>;

export const podWriter = (context: KeyedContext, expected: TrackingExpectations): PodWriter => {
  const control = podControl(kinds.daemonSets, context);
  return async (set, hash, changes) => {
    const key = keyText(keyOf(set));
    const nodes = changes.create.slice(0, burst);
    const deletions = changes.delete.slice(0, burst);
    const template = templateFor(set, hash, context.naming);
    expected.expectBoth(key, nodes.length, deletions.map(pod => keyText(keyOf(pod))));
    const {successes, error} = await slowStart(nodes.length, async index => {
      try {
        await control.create(set, template(nodes[index]!));
      } catch (failure) {
        // Nothing can be created in a terminating namespace.
        if (!hasCause(failure, 'NamespaceTerminating')) throw failure;
      }
    });
    expected.created(key, nodes.length - successes);
    const errors: unknown[] = successes < nodes.length ? [error] : [];
    await Promise.all(
      deletions.map(async pod => {
        try {
          await control.delete(set, pod);
        } catch (failure) {
          expected.deleted(key, keyText(keyOf(pod)));
          if (!isNotFound(failure)) errors.push(failure);
        }
      }),
    );
    const failure = aggregate(errors);
    if (failure) throw failure;
  };
};
