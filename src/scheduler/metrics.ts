// The scheduler's metrics under upstream's names, with bounded label values.

import {exponentialBuckets, type Labels, type Meter} from '#src/base/meter.js';
import {batchMetrics, type BatchMetrics} from './batching/batch-metrics.js';
import type {Cache} from './cache/cache.js';
import type {QueueEvent} from '#src/scheduler/framework/events.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';
import type {SubQueue, QueuedPod} from './queue/queued-pod.js';
import type {SchedulingQueue} from './queue/queue.js';

export type Result = 'scheduled' | 'unschedulable' | 'error';

/** The attempts as a metric label, with an upper bound. */
const attemptsLabel = (attempts: number): string => (attempts >= 15 ? '15+' : String(attempts));

/** The scheduler's metrics, under upstream's names. */
export class SchedulerMetrics {
  readonly #attempts;
  readonly #attemptTime;
  readonly #algorithmTime;
  readonly #pointTime;
  readonly #permitWait;
  readonly #sinceFirst;
  readonly #attemptsOfPod;
  readonly #incoming;
  readonly #rejections;
  readonly #preemptions;
  readonly #victims;
  readonly #claimCreations;
  readonly #batches;
  readonly #meter: Meter;
  readonly #observed: Disposable[] = [];

  constructor(meter: Meter) {
    this.#meter = meter;
    const buckets = exponentialBuckets(0.001, 2, 15);
    this.#batches = batchMetrics(meter);
    this.#claimCreations = meter.counter({
      name: 'scheduler_resourceclaim_creates_total',
      help: 'Number of ResourceClaims creation requests within scheduler',
      labels: ['status'],
    });
    this.#attempts = meter.counter({
      name: 'scheduler_schedule_attempts_total',
      help: "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
      labels: ['result', 'profile'],
    });
    this.#attemptTime = meter.histogram({
      name: 'scheduler_scheduling_attempt_duration_seconds',
      help: 'Scheduling attempt latency in seconds (scheduling algorithm + binding)',
      labels: ['result', 'profile'],
      buckets,
    });
    this.#algorithmTime = meter.histogram({
      name: 'scheduler_scheduling_algorithm_duration_seconds',
      help: 'Scheduling algorithm latency in seconds',
      buckets,
    });
    this.#pointTime = meter.histogram({
      name: 'scheduler_framework_extension_point_duration_seconds',
      help: 'Latency for running all plugins of a specific extension point.',
      labels: ['extension_point', 'status', 'profile'],
      buckets: exponentialBuckets(0.0001, 2, 12),
    });
    this.#permitWait = meter.histogram({
      name: 'scheduler_permit_wait_duration_seconds',
      help: 'Duration of waiting on permit.',
      labels: ['result'],
      buckets,
    });
    this.#sinceFirst = meter.histogram({
      name: 'scheduler_pod_scheduling_sli_duration_seconds',
      help: 'E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.',
      labels: ['attempts'],
      buckets: exponentialBuckets(0.01, 2, 20),
    });
    this.#attemptsOfPod = meter.histogram({
      name: 'scheduler_pod_scheduling_attempts',
      help: 'Number of attempts to successfully schedule a pod.',
      buckets: exponentialBuckets(1, 2, 5),
    });
    this.#incoming = meter.counter({
      name: 'scheduler_queue_incoming_pods_total',
      help: 'Number of pods added to scheduling queues by event and queue type.',
      labels: ['queue', 'event'],
    });
    this.#rejections = meter.gauge({
      name: 'scheduler_unschedulable_pods',
      help: 'The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.',
      labels: ['plugin', 'profile'],
    });
    this.#preemptions = meter.counter({
      name: 'scheduler_preemption_attempts_total',
      help: 'Total preemption attempts in the cluster till now',
    });
    this.#victims = meter.histogram({
      name: 'scheduler_preemption_victims',
      help: 'Number of selected preemption victims',
      buckets: exponentialBuckets(1, 2, 7),
    });
  }

  /** Registers gauges for the queue, the cache and the pods being bound. */
  watch(queue: SchedulingQueue, cache: Cache, binding: () => number): void {
    const meter = this.#meter;
    const toSeries = (values: Readonly<Record<string, number>>, label: string): [Labels, number][] =>
      Object.entries(values).map(([name, value]) => [{[label]: name}, value]);
    this.#observed.push(
      meter.observed(
        {
          name: 'scheduler_pending_pods',
          help: "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
          labels: ['queue'],
        },
        () => toSeries({...queue.sizes}, 'queue'),
      ),
      meter.observed(
        {name: 'scheduler_cache_size', help: 'Number of nodes, pods, and assumed (bound) pods in the scheduler cache.', labels: ['type']},
        () => toSeries({...cache.sizes}, 'type'),
      ),
      meter.observed(
        {
          name: 'scheduler_goroutines',
          help: 'Number of running goroutines split by the work they do such as binding.',
          labels: ['operation'],
        },
        () => [[{operation: 'binding'}, binding()]],
      ),
    );
  }

  /** Counts an attempt and its duration. */
  countAttempt(result: Result, profile: string, ms: number): void {
    this.#attempts.add({result, profile});
    this.#attemptTime.observe(ms / 1000, {result, profile});
  }

  observeAlgorithm(ms: number): void {
    this.#algorithmTime.observe(ms / 1000);
  }

  /** Observes the time that all plugins of an extension point took for a pod. */
  observeExtensionPoint(
    point: 'Filter' | 'Score' | 'PostFilter' | 'Permit' | 'PreBind' | 'Bind',
    status: 'Success' | 'Unschedulable' | 'Wait' | 'Error',
    profile: string,
    ms: number,
  ): void {
    this.#pointTime.observe(ms / 1000, {extension_point: point, status, profile});
  }

  /** Observes how long a pod waited for a permit. */
  observePermitWait(result: 'Success' | 'Unschedulable', ms: number): void {
    this.#permitWait.observe(ms / 1000, {result});
  }

  /** Observes a scheduled pod, with the time since it was first queued. */
  observeScheduled({attempts}: QueuedPod, ms: number): void {
    this.#attemptsOfPod.observe(attempts);
    this.#sinceFirst.observe(ms / 1000, {attempts: attemptsLabel(attempts)});
  }

  countIncoming(subQueue: Exclude<SubQueue, 'none'>, event: QueueEvent): void {
    this.#incoming.add({queue: subQueue, event});
  }

  /** Called when a plugin starts or stops rejecting a pod. */
  countRejection(plugin: PluginName, profile: string, by: 1 | -1): void {
    if (plugin !== 'NoNodes') this.#rejections.add({plugin, profile}, by);
  }

  /** Counts the creation of a claim for extended resources. */
  countClaimCreation(status: 'success' | 'failure'): void {
    this.#claimCreations.add({status});
  }

  /** Returns what is measured of the batches of a profile. */
  batchesOf(profile: string): BatchMetrics {
    const signing = this.#pointTime.at({extension_point: 'Sign', status: 'Success', profile});
    return {...this.#batches(profile), observeSign: ms => signing.observe(ms / 1000)};
  }

  countPreemption(victims: number): void {
    this.#preemptions.add();
    if (victims > 0) this.#victims.observe(victims);
  }

  stop(): void {
    for (const each of this.#observed) each[Symbol.dispose]();
  }
}
