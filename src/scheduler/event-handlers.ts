import {isResync, type Change} from '#informers/change.js';
import type {Informers} from '#informers/factory.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, Node} from '#src/api/types.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {nodeEvents, podEvents} from './changes.js';
import {isSchedulingEqual} from './cache/pod-info.js';
import type {EventKind} from '#src/scheduler/framework/events.js';
import type {Scheduler} from './scheduler.js';
import type {SchedulerState} from './state.js';

const isTerminal = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
const nodeOf = ({spec}: Frozen<Pod>): string => spec?.nodeName ?? '';
const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';

/** Updates cache and queue on changes of nodes. */
const nodeHandler =
  ({cache, queue}: SchedulerState) =>
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
    for (const kind of nodeEvents(change.old, object)) queue.moveOn({kind, old: change.old, now: object});
  };

/**
 * Updates cache and queue on changes of pods: assigned ones, and pending ones that name this scheduler. Terminated pods
 * count as deleted.
 */
class PodHandler {
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  handle(change: Change<Pod>): void {
    if (isResync(change)) return;
    this.#scheduler.state.podGroups?.note(change);
    const {object: pod} = change;
    if (change.type === 'deleted') return this.#removed(pod);
    if (isTerminal(pod)) {
      if (change.type === 'updated' && !isTerminal(change.old)) this.#removed(pod);
    } else if (change.type === 'added') {
      if (nodeOf(pod)) this.#assigned(pod);
      else this.#unassigned(pod);
    } else if (nodeOf(pod) && !nodeOf(change.old)) this.#assigned(pod);
    else if (nodeOf(pod) || this.#scheduler.isOurs(pod)) this.#updated(change.old, pod);
  }

  #assigned(pod: Frozen<Pod>): void {
    const {cache, queue, nominator} = this.#scheduler.state;
    if (!cache.confirm(pod)) cache.setPod(this.#scheduler.podInfo(pod), nodeOf(pod));
    queue.delete(uidOf(pod));
    nominator.delete(uidOf(pod));
    queue.moveOn({kind: 'AssignedPodAdd', now: pod});
  }

  #unassigned(pod: Frozen<Pod>): void {
    const {queue, nominator, podGroups} = this.#scheduler.state;
    if (!this.#scheduler.isOurs(pod)) return;
    const info = this.#scheduler.podInfo(pod);
    nominator.set(info, pod.status?.nominatedNodeName ?? '');
    queue.add(info);
    // It may complete a gang.
    if (podGroups) queue.moveOn({kind: 'UnschedulablePodAdd', now: pod});
  }

  #removed(pod: Frozen<Pod>): void {
    const {cache, queue, nominator} = this.#scheduler.state;
    const cached = cache.pod(uidOf(pod));
    queue.delete(uidOf(pod));
    nominator.delete(uidOf(pod));
    this.#scheduler.rejectWaiting(uidOf(pod));
    cache.removePod(uidOf(pod));
    const old = cached && !nodeOf(pod) ? {...pod, spec: {...pod.spec!, nodeName: cached.node}} : pod;
    if (cached || pod.status?.nominatedNodeName) queue.moveOn({kind: 'AssignedPodDelete', old});
  }

  #updated(old: Frozen<Pod>, pod: Frozen<Pod>): void {
    const {cache, queue, nominator} = this.#scheduler.state;
    const changes = podEvents(old, pod);
    if (nodeOf(old)) {
      if (isSchedulingEqual(old, pod) && cache.pod(uidOf(pod))?.assumed === false) cache.refreshPod(uidOf(pod), pod);
      else cache.setPod(this.#scheduler.podInfo(pod), nodeOf(pod));
      for (const kind of changes) queue.moveOn({kind, old, now: pod});
    } else if (!cache.isAssumed(uidOf(pod))) {
      const info = this.#scheduler.podInfo(pod);
      queue.update(info, old, changes);
      nominator.update(info, old.status?.nominatedNodeName ?? '', pod.status?.nominatedNodeName ?? '');
      if (old.status?.nominatedNodeName && old.status.nominatedNodeName !== pod.status?.nominatedNodeName)
        queue.moveOn({kind: 'AssignedPodDelete', old}, ({priority}) => priority <= info.priority);
    } else if (pod.metadata?.deletionTimestamp && !old.metadata?.deletionTimestamp) this.#removed(pod);
  }
}

/** Further kinds whose events requeue pods, by event name. */
const watchedResources = {
  PersistentVolumeClaim: kinds.persistentVolumeClaims,
  PersistentVolume: kinds.persistentVolumes,
  StorageClass: kinds.storageClasses,
  CSINode: kinds.csiNodes,
  CSIDriver: kinds.csiDrivers,
  CSIStorageCapacity: kinds.csiStorageCapacities,
  VolumeAttachment: kinds.volumeAttachments,
  ResourceClaim: kinds.resourceClaims,
  DeviceClass: kinds.deviceClasses,
  ResourceSlice: kinds.resourceSlices,
} as const;

const actions = {added: 'Add', updated: 'Update', deleted: 'Delete'} as const;

const resourceHandler =
  ({queue, volumes, devices}: SchedulerState, name: keyof typeof watchedResources | 'Workload') =>
  (change: Change): void => {
    if (isResync(change)) return;
    if (name === 'PersistentVolumeClaim' || name === 'PersistentVolume') volumes.onChange();
    if (name === 'ResourceClaim') devices.claims.onChange(change as Change<DeviceClaim>);
    const kind: EventKind = `${name}${actions[change.type]}`;
    const {object} = change;
    if (change.type === 'deleted') queue.moveOn({kind, old: object});
    else queue.moveOn({kind, old: change.type === 'updated' ? change.old : undefined, now: object});
  };

/** The kinds whose changes the scheduler watches. */
export const watchedKinds: readonly Kind[] = [kinds.nodes, kinds.pods, ...Object.values(watchedResources)] as readonly Kind<KubeObject>[];

/** Registers the scheduler's event handlers. */
export const addEventHandlers = (scheduler: Scheduler, informers: Informers): Disposable[] => {
  const pods = new PodHandler(scheduler);
  return [
    informers.informer(kinds.nodes).listen(nodeHandler(scheduler.state)),
    informers.informer(kinds.pods).listen(change => pods.handle(change)),
    ...Object.entries(watchedResources).map(([name, kind]) =>
      informers.informer(kind as Kind).listen(resourceHandler(scheduler.state, name as keyof typeof watchedResources)),
    ),
    ...(scheduler.state.podGroups
      ? [informers.informer(kinds.workloads as Kind).listen(resourceHandler(scheduler.state, 'Workload'))]
      : []),
    ...(scheduler.state.devices.features.deviceTaintRules
      ? [
          informers
            .informer(kinds.deviceTaintRules)
            .listen(change => !isResync(change) && scheduler.state.queue.moveOn({kind: 'ResourceSliceUpdate'})),
        ]
      : []),
  ];
};
