import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {ClusterEvent} from '#src/scheduler/events.js';
import type {QueuedPod} from './queued-pod.js';

/** What has happened since a pod was popped that is being decided on: no part of the queue has it meanwhile, and what it waits for is not known yet. */
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

  /** The first event that helps the pod, if it is the one that was being decided on. */
  firstHelpful(pod: QueuedPod, helps: (event: ClusterEvent) => boolean): ClusterEvent | undefined {
    return this.isFor(pod) ? this.#events.find(({event, only}) => only(pod.info) && helps(event))?.event : undefined;
  }
}
