import type {Change} from '#informers/change.js';
import {isResync} from '#informers/change.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {nodeChanges, podChanges} from './changes.js';
import type {Scheduler} from './scheduler.js';

const isOver = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const nodeOf = ({spec}: Frozen<Pod>): string => spec?.nodeName ?? '';
const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';

/** Keeps cache and queue up to date with the nodes there are. */
export const followNodes =
  ({cache, queue}: Scheduler) =>
  (change: Change<Node>): void => {
    if (isResync(change)) return;
    const {object} = change;
    if (change.type === 'deleted') {
      queue.moveOn({kind: 'NodeDelete', old: object});
      cache.removeNode(object.metadata?.name ?? '');
      return;
    }
    cache.setNode(object);
    if (change.type === 'added') return queue.moveOn({kind: 'NodeAdd', now: object});
    for (const kind of nodeChanges(change.old, object)) queue.moveOn({kind, old: change.old, now: object});
  };

/** Keeps cache and queue up to date with pods: those on nodes, and those that wait for one and name this scheduler. Pods that are over are as good as gone. */
export const followPods = (scheduler: Scheduler, isOurs: (pod: Frozen<Pod>) => boolean) => {
  const {cache, queue, nominated} = scheduler;

  const assigned = (pod: Frozen<Pod>): void => {
    cache.setPod(scheduler.podInfo(pod), nodeOf(pod));
    queue.delete(uidOf(pod));
    nominated.delete(uidOf(pod));
    queue.moveOn({kind: 'AssignedPodAdd', now: pod});
  };

  const unassigned = (pod: Frozen<Pod>): void => {
    if (!isOurs(pod)) return;
    const info = scheduler.podInfo(pod);
    nominated.set(info, pod.status?.nominatedNodeName ?? '');
    queue.add(info);
  };

  const gone = (pod: Frozen<Pod>): void => {
    const placed = cache.pod(uidOf(pod));
    queue.delete(uidOf(pod));
    nominated.delete(uidOf(pod));
    cache.removePod(uidOf(pod));
    const old = placed && !nodeOf(pod) ? {...pod, spec: {...pod.spec!, nodeName: placed.node}} : pod;
    if (placed || pod.status?.nominatedNodeName) queue.moveOn({kind: 'AssignedPodDelete', old});
  };

  const moved = (old: Frozen<Pod>, pod: Frozen<Pod>): void => {
    const changes = podChanges(old, pod);
    if (nodeOf(old)) {
      cache.setPod(scheduler.podInfo(pod), nodeOf(pod));
      for (const kind of changes) queue.moveOn({kind, old, now: pod});
    } else if (!cache.isAssumed(uidOf(pod))) {
      const info = scheduler.podInfo(pod);
      queue.update(info, old, changes);
      nominated.update(info, old.status?.nominatedNodeName ?? '', pod.status?.nominatedNodeName ?? '');
      if (old.status?.nominatedNodeName && old.status.nominatedNodeName !== pod.status?.nominatedNodeName) queue.moveOn({kind: 'AssignedPodDelete', old}, ({priority}) => priority <= info.priority);
    } else if (pod.metadata?.deletionTimestamp && !old.metadata?.deletionTimestamp) gone(pod);
  };

  return (change: Change<Pod>): void => {
    if (isResync(change)) return;
    const {object: pod} = change;
    if (change.type === 'deleted') return gone(pod);
    if (isOver(pod)) {
      if (change.type === 'updated' && !isOver(change.old)) gone(pod);
    } else if (change.type === 'added') {
      if (nodeOf(pod)) assigned(pod);
      else unassigned(pod);
    } else if (nodeOf(pod) && !nodeOf(change.old)) assigned(pod);
    else if (nodeOf(pod) || isOurs(pod)) moved(change.old, pod);
  };
};
