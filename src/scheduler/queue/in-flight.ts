import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {ClusterEvent} from '#src/scheduler/framework/events.js';
import type {QueuedPod} from './queued-pod.js';

/**
 * Records the events since a pod was popped: no sub-queue holds it meanwhile, and the plugins that will reject it are
 * not known yet.
 */
export class InFlight {
  #pod: QueuedPod | undefined;
  #events: {readonly event: ClusterEvent; readonly only: (pod: PodInfo) => boolean}[] = [];

  begin(pod: QueuedPod): void {
    this.#pod = pod;
    this.#events = [];
  }

  end(): void {
    this.#pod = undefined;
    this.#events = [];
  }

  isFor(pod: QueuedPod): boolean {
    return this.#pod === pod;
  }

  record(event: ClusterEvent, only: (pod: PodInfo) => boolean): void {
    if (this.#pod) this.#events.push({event, only});
  }

  /** Returns the first event that should requeue the pod, if it is the one in flight. */
  firstHelpful(pod: QueuedPod, helps: (event: ClusterEvent) => boolean): ClusterEvent | undefined {
    return this.isFor(pod) ? this.#events.find(({event, only}) => only(pod.info) && helps(event))?.event : undefined;
  }
}
