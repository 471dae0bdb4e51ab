import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {ClusterEvent} from '#src/scheduler/framework/events.js';
import type {QueuedPod} from './queued-pod.js';

interface RecordedEvent {
  readonly event: ClusterEvent;
  readonly only: (pod: PodInfo) => boolean;
}

/**
 * Records the events since pods were popped: no sub-queue holds them meanwhile, and the plugins that will reject them
 * are not known yet. Mostly it is one pod; those that wait for a permit are in flight beside it.
 */
export class InFlight {
  /** The pods, the oldest first, with the number of events before each. */
  readonly #begins = new Map<QueuedPod, number>();
  #events: RecordedEvent[] = [];
  /** The number of events that are not kept any more. */
  #dropped = 0;

  begin(pod: QueuedPod): void {
    this.end(pod);
    this.#begins.set(pod, this.#dropped + this.#events.length);
  }

  end(pod: QueuedPod): void {
    if (!this.#begins.delete(pod)) return;
    const [oldest = this.#dropped + this.#events.length] = this.#begins.values();
    if (oldest === this.#dropped) return;
    this.#events = this.#events.slice(oldest - this.#dropped);
    this.#dropped = oldest;
  }

  isFor(pod: QueuedPod): boolean {
    return this.#begins.has(pod);
  }

  record(event: ClusterEvent, only: (pod: PodInfo) => boolean): void {
    if (this.#begins.size > 0) this.#events.push({event, only});
  }

  /** Returns the first event that should requeue the pod, if it is in flight. */
  firstHelpful(pod: QueuedPod, helps: (event: ClusterEvent) => boolean): ClusterEvent | undefined {
    const begin = this.#begins.get(pod);
    if (begin === undefined) return undefined;
    for (let i = begin - this.#dropped; i < this.#events.length; i++) {
      const {event, only} = this.#events[i]!;
      if (only(pod.info) && helps(event)) return event;
    }
    return undefined;
  }
}
