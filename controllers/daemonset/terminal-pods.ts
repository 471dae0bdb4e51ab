import {keyOf} from '#src/api/key.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {failureBackoff} from './backoff.js';
import type {DaemonSet} from './kinds.js';
import type {OnTerminal} from './manage.js';

/**
 * Returns the decisions on terminal pods of a set: succeeded ones are deleted at once, failed ones with a backoff per
 * node.
 */
export const terminalPods = ({
  clock,
  events,
  enqueue,
}: Pick<KeyedContext, 'clock' | 'events' | 'enqueue'>): ((set: DaemonSet) => OnTerminal) => {
  const failures = failureBackoff(clock);
  return set => (pod, node) => {
    const {namespace, name} = keyOf(pod);
    if (pod.status?.phase === 'Succeeded') {
      events.normal(set, 'SucceededDaemonPod', `Found succeeded daemon pod ${namespace}/${name} on node ${node}, will try to delete it`);
      return 'delete';
    }
    const key = `${set.metadata?.uid}/${set.status?.observedGeneration ?? 0}/${node}`;
    const remaining = failures.remaining(key);
    if (remaining > 0) {
      enqueue(keyOf(set), {afterMs: remaining});
      return 'wait';
    }
    failures.failed(key);
    events.warning(set, 'FailedDaemonPod', `Found failed daemon pod ${namespace}/${name} on node ${node}, will try to kill it`);
    return 'delete';
  };
};
