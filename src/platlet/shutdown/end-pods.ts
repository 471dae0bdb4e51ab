// Ends the pods of a node that shuts down, one group after the other.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {disruptedCondition} from '#src/platlet/pod/conditions.js';
import type {PodOutcome} from '#src/platlet/pod/status.js';
import type {EndingPods} from '#src/platlet/worker/ending-pods.js';
import {
  graceOf,
  groupsOf,
  shutdownMessage,
  shutdownReason,
  type PriorityPeriod,
  type ShutdownGroup,
} from '#src/platlet/node/shutdown-groups.js';

export interface EndParts {
  readonly naming: Naming;
  readonly pods: EndingPods;
  readonly periods: readonly PriorityPeriod[];
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const outcome: PodOutcome = {reason: shutdownReason, message: shutdownMessage, isFailure: true};
const lookMs = 100;

/** Resolves when all pods have ended, or have had their time. A group begins when the one of lower priority is over. */
export const endPods = async (parts: EndParts): Promise<void> => {
  for (const group of groupsOf(parts.periods, parts.pods.active())) if (group.pods.length > 0) await endGroup(parts, group);
};

const endGroup = async ({naming, pods, clock, log, signal}: EndParts, group: ShutdownGroup): Promise<void> => {
  const until = clock.monotonic() + group.seconds * 1000;
  const fields = {priority: group.priority, gracePeriod: group.seconds};
  for (const pod of group.pods) {
    const graceSeconds = graceOf(pod, group);
    log.v(1).info({pod: keyText(keyOf(pod)), gracePeriod: graceSeconds}, 'the node shuts down: ending a pod');
    pods.end(pod, {outcome, graceSeconds, disruption: disruptedCondition(naming, shutdownMessage)});
  }
  const left = (): readonly Frozen<Pod>[] => group.pods.filter(pod => pods.progress(pod) !== 'gone');
  while (left().length > 0 && clock.monotonic() < until && !signal.aborted) await sleep(clock, lookMs, signal).catch(() => {});
  const volumes = left().filter(pod => pods.progress(pod) === 'stopped');
  if (volumes.length > 0)
    log.error(
      {pods: volumes.map(pod => keyText(keyOf(pod)))},
      'failed while waiting for all the volumes belonging to pods in this group to unmount',
    );
  log.v(1).info(fields, left().length === 0 ? 'all pods of a group have ended' : 'pods of a group have had their time');
};
