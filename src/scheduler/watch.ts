import {isResync, type Change} from '#informers/change.js';
import type {InformerFactory} from '#informers/factory.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {isAlike, nodeChanges, podChanges} from './changes.js';
import type {EventKind} from './events.js';
import type {Scheduler} from './scheduler.js';

const isOver = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const nodeOf = ({spec}: Frozen<Pod>): string => spec?.nodeName ?? '';
const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';

/** Keeps cache and queue up to date with the nodes there are. */
const followNodes =
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
const followPods = (scheduler: Scheduler) => {
  const {cache, queue, nominated} = scheduler;

  const assigned = (pod: Frozen<Pod>): void => {
    cache.setPod(scheduler.podInfo(pod), nodeOf(pod));
    queue.delete(uidOf(pod));
    nominated.delete(uidOf(pod));
    queue.moveOn({kind: 'AssignedPodAdd', now: pod});
  };

  const unassigned = (pod: Frozen<Pod>): void => {
    if (!scheduler.isOurs(pod)) return;
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
      if (isAlike(old, pod) && cache.pod(uidOf(pod))?.assumed === false) cache.refreshPod(uidOf(pod), pod);
      else cache.setPod(scheduler.podInfo(pod), nodeOf(pod));
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
    else if (nodeOf(pod) || scheduler.isOurs(pod)) moved(change.old, pod);
  };
};

/** Kinds that pods wait for, as events name them. */
const awaited = {
  PersistentVolumeClaim: kinds.persistentVolumeClaims,
  PersistentVolume: kinds.persistentVolumes,
  StorageClass: kinds.storageClasses,
  CSINode: kinds.csiNodes,
  CSIDriver: kinds.csiDrivers,
  CSIStorageCapacity: kinds.csiStorageCapacities,
  VolumeAttachment: kinds.volumeAttachments,
  ResourceClaim: kinds.resourceClaims,
} as const;

const actions = {added: 'Add', updated: 'Update', deleted: 'Delete'} as const;

const followAwaited =
  ({queue, volumes}: Scheduler, name: keyof typeof awaited) =>
  (change: Change): void => {
    if (isResync(change)) return;
    if (name === 'PersistentVolumeClaim' || name === 'PersistentVolume') volumes.changed();
    const kind: EventKind = `${name}${actions[change.type]}`;
    const {object} = change;
    if (change.type === 'deleted') queue.moveOn({kind, old: object});
    else queue.moveOn({kind, old: change.type === 'updated' ? change.old : undefined, now: object});
  };

/** The kinds whose changes the scheduler follows. */
export const followed: readonly Kind[] = [kinds.nodes, kinds.pods, ...Object.values(awaited)] as readonly Kind<KubeObject>[];

/** Lets a scheduler know of every change that matters to it. */
export const follow = (scheduler: Scheduler, informers: InformerFactory): Disposable[] => [
  informers.informer(kinds.nodes).listen(followNodes(scheduler)),
  informers.informer(kinds.pods).listen(followPods(scheduler)),
  ...Object.entries(awaited).map(([name, kind]) => informers.informer(kind as Kind).listen(followAwaited(scheduler, name as keyof typeof awaited))),
];
