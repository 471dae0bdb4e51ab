import type {Cache} from './cache/cache.js';
import type {PodGroups} from './cache/pod-groups.js';
import type {Devices} from '#src/scheduler/devices/devices.js';
import type {WaitingPods} from './permit/waiting-pods.js';
import type {Nominator} from './queue/nominator.js';
import type {SchedulingQueue} from './queue/queue.js';
import type {VolumeBinder} from './volumes/binder.js';

/** What is known of nodes and pods. */
export interface SchedulerState {
  readonly cache: Cache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly volumes: VolumeBinder;
  readonly devices: Devices;
  /** The pods of workloads by their groups, if these are scheduled together. */
  readonly podGroups: PodGroups | undefined;
  readonly waiting: WaitingPods;
}
