import {aggregate} from '#controllers/shared/aggregate.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {createExpected, deleteExpected} from '#controllers/shared/pods/expected-changes.js';
import {podControl} from '#controllers/shared/pods/pod-control.js';
import {podNames} from '#controllers/shared/pods/pod-names.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
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
  const names = podNames(context.lister(kinds.pods), context.clock, context.random);
  return async (set, hash, changes) => {
    const key = keyText(keyOf(set));
    const nodes = changes.create.slice(0, burst);
    const deletions = changes.delete.slice(0, burst);
    const template = templateFor(set, hash, context.naming);
    const planned = names.plan(
      set,
      nodes.map(slot => ({slot})),
    );
    expected.expectBoth(
      key,
      planned.map(pod => pod.key),
      deletions.map(pod => keyText(keyOf(pod))),
    );
    const {successes, error} = await createExpected(planned, pod => control.create(set, template(pod.slot), pod), {
      parent: set,
      key,
      expected,
      names,
    });
    const errors: unknown[] = successes < nodes.length ? [error] : [];
    errors.push(...(await deleteExpected(deletions, pod => control.delete(set, pod), {key, expected})));
    const failure = aggregate(errors);
    if (failure) throw failure;
  };
};
