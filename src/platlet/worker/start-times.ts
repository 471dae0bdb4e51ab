// Measures how long pods take from creation to running.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Images, PodStatuses} from '#src/platlet/pod/ports.js';
import type {OwnStatus} from '#src/platlet/pod/status.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';

interface Start {
  /** When the agent first observed the pod, in ms since the epoch. */
  readonly seenAt: number;
  readonly createdAt: number | undefined;
  /** The end of the init containers, the start of the first pull, and the end of the last pull. */
  initializedAt?: number;
  pullingSince?: number;
  pulledAt?: number;
  /** Whether the pod was pending when it was first observed, and has not run since. */
  isPending: boolean;
  /** Whether not all containers have been reported as started. */
  isStarting: boolean;
}

/** Measures the starts of the pods of a node by their reported statuses. */
export class PodStartTimes {
  readonly #clock: Clock;
  readonly #metrics: AgentMetrics;
  readonly #starts = new Map<string, Start>();

  constructor(clock: Clock, metrics: AgentMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Returns an image manager that observes pulls, which are excluded from the start duration. */
  images(images: Images): Images {
    return {
      ...(images.ensureVolume ? {ensureVolume: (pod, volume, signal) => images.ensureVolume!(pod, volume, signal)} : {}),
      prepare: async pod => images.prepare?.(pod),
      ensure: async (pod, container, signal) => {
        const start = this.#starts.get(pod.metadata?.uid ?? '');
        const since = this.#clock.now();
        try {
          return await images.ensure(pod, container, signal);
        } finally {
          if (start) {
            start.pullingSince ??= since;
            start.pulledAt = this.#clock.now();
          }
        }
      },
    };
  }

  /** Returns a status manager that observes the reported statuses. */
  statuses(statuses: PodStatuses): PodStatuses {
    return {
      set: (pod, status) => {
        this.#reported(pod, status);
        statuses.set(pod, status);
      },
      finished: pod => statuses.finished(pod),
      forget: uid => {
        this.#starts.delete(uid);
        statuses.forget(uid);
      },
      statusOf: uid => statuses.statusOf(uid),
    };
  }

  #reported(pod: Frozen<Pod>, status: OwnStatus): void {
    const uid = pod.metadata?.uid ?? '';
    const now = this.#clock.now();
    let start = this.#starts.get(uid);
    if (!start) {
      // A pod that ran under an earlier agent process is not measured.
      const isNew = pod.status?.startTime === undefined;
      start = {seenAt: now, createdAt: parseTime(pod.metadata?.creationTimestamp), isPending: isNew, isStarting: isNew};
      this.#starts.set(uid, start);
    }
    if (start.isPending && status.phase === 'Running') {
      start.isPending = false;
      this.#metrics.podStart.observe((now - start.seenAt) / 1000);
    }
    if (status.conditions?.some(({type, status: is}) => type === 'Initialized' && is === 'True')) start.initializedAt ??= now;
    if (start.isStarting && status.phase !== 'Pending') this.#started(pod, status, start, now);
  }

  #started(pod: Frozen<Pod>, {phase, containerStatuses = []}: OwnStatus, start: Start, now: number): void {
    const hasEnded = phase === 'Succeeded' || phase === 'Failed';
    const isStarted = containerStatuses.length > 0 && containerStatuses.every(({state, started}) => state?.running && started !== false);
    if (!hasEnded && !isStarted) return;
    start.isStarting = false;
    if (!isStarted || start.createdAt === undefined) return;
    const total = Math.max(0, now - start.createdAt);
    this.#metrics.podStartTotal.observe(total / 1000);
    // Init containers run in between, so pull times cannot be separated.
    const init = pod.spec?.initContainers?.length ? Math.max(0, (start.initializedAt ?? now) - start.seenAt) : 0;
    const pulls = init > 0 ? 0 : (start.pulledAt ?? 0) - (start.pullingSince ?? 0);
    this.#metrics.podStartSli.observe(Math.max(0, total - init - pulls) / 1000);
  }
}
