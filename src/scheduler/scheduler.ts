import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {runStepsYielding} from '#src/base/steps.js';
import {yieldToEventLoop, Yielder} from '#src/base/turn.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {messageOf} from '#src/base/message.js';
import type {Activity} from './activity.js';
import type {PodInfo} from './cache/pod-info.js';
import type {Attempt, Decider, Decision} from './decider.js';
import {AllocationError} from '#src/scheduler/devices/types.js';
import {schedulingReport} from './decision-report.js';
import type {FailureHandler} from './failure-handler.js';
import {noNodesText} from '#src/scheduler/framework/fit-error.js';
import type {SchedulerMetrics} from './metrics.js';
import type {PodBinder} from './pod-binder.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';
import type {Preemptor} from './preemption/preemptor.js';
import type {Profile} from './profile.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {Settings} from './settings.js';
import type {SchedulerState} from './state.js';

export interface SchedulerStages {
  readonly environment: SchedulerEnvironment;
  readonly state: SchedulerState;
  readonly decider: Decider;
  readonly binder: PodBinder;
  readonly preemptor: Preemptor;
  readonly failures: FailureHandler;
  readonly metrics: SchedulerMetrics;
  readonly activity: Activity;
}

export interface SchedulerEnvironment {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly recorder?: FlightRecorder | undefined;
  readonly profiles: Settings['profiles'];
}

/** The most repetitions of a decision because of concurrent changes. */
const maxAttempts = 10;

interface NoNodes {
  readonly type: 'no nodes';
}

/** Schedules pending pods: one after another, and each is bound while the next ones are scheduled. */
export class Scheduler {
  readonly state: SchedulerState;
  readonly #parts: SchedulerStages;
  readonly #pieces: Yielder;

  constructor(parts: SchedulerStages) {
    const {state, environment} = parts;
    this.#parts = parts;
    this.state = state;
    this.#pieces = new Yielder(environment.clock);
  }

  /** Whether the pod names one of this scheduler's profiles. */
  isOurs({spec}: Frozen<Pod>): boolean {
    return this.#parts.environment.profiles.has(spec?.schedulerName ?? '');
  }

  /** Takes back the node of a pod that waits for a permit. Returns whether it did. */
  rejectWaiting(uid: string): boolean {
    return this.state.waiting.reject(uid, {plugin: '', message: 'removed'});
  }

  podInfo(pod: Frozen<Pod>): PodInfo {
    return this.#parts.failures.podInfo(pod);
  }

  /** Schedules until the signal aborts; resolves once nothing is being bound. */
  async run(signal: AbortSignal): Promise<void> {
    const {activity} = this.#parts;
    signal.addEventListener('abort', () => activity.wake(), {once: true});
    while (!signal.aborted) {
      const pod = this.state.queue.pop();
      if (pod) {
        await this.#schedule(pod, signal);
        if (!this.state.waiting.has(pod.info.uid)) this.state.queue.done(pod);
        await yieldToEventLoop(); // Lets bindings and watch events proceed between any two pods.
        continue;
      }
      await activity.rest();
    }
    this.state.queue.close();
    activity.end();
    await Promise.all([this.#parts.binder.whenIdle(), this.#parts.preemptor.whenIdle()]);
    this.#parts.metrics.stop();
  }

  async #schedule(queued: QueuedPod, signal: AbortSignal): Promise<void> {
    const {clock, log} = this.#parts.environment;
    const {key, uid} = queued.info;
    const profile = this.#profileOf(queued);
    if (!profile || this.state.cache.isAssumed(uid)) return;
    const since = clock.monotonic();
    try {
      const decision = await this.#decide(queued, profile, since);
      if (!decision || signal.aborted) return;
      this.#report(queued, decision.type === 'no nodes' ? {failure: noNodesText} : {decision}, since);
      if (decision.type !== 'no nodes') return this.#apply(queued, decision, since);
      // Differs from upstream: the pod waits for a node, where upstream retries after each backoff.
      this.#parts.failures.handle(
        queued,
        {reason: 'Unschedulable', message: noNodesText, nominatedNode: ''},
        new Set<PluginName>(['NoNodes']),
        since,
      );
    } catch (error) {
      if (error instanceof AllocationError) log.warn({pod: key, reason: error.message}, 'devices of a pod could not be allocated');
      else log.error({pod: key, err: error}, 'a pod could not be scheduled for a fault');
      this.#report(queued, {failure: messageOf(error)}, since);
      this.#parts.failures.handleError(queued, messageOf(error), since);
    }
  }

  #report({info}: QueuedPod, decided: Parameters<typeof schedulingReport>[1], since: number): void {
    const {recorder, clock} = this.#parts.environment;
    recorder?.scheduling(schedulingReport(info, decided, clock.monotonic() - since));
  }

  /** Returns the pod's profile; undefined if the pod is being deleted. */
  #profileOf(queued: QueuedPod): Profile | undefined {
    const {events, profiles} = this.#parts.environment;
    const {pod, key, uid} = queued.info;
    if (!pod.metadata?.deletionTimestamp) return profiles.get(pod.spec?.schedulerName ?? '');
    events.warning(pod, 'FailedScheduling', `skip schedule deleting pod: ${key}`);
    this.state.queue.delete(uid);
    return undefined;
  }

  /**
   * Decides on a pod; undefined if it was deleted or bound meanwhile. A decision that no longer holds is made again.
   */
  async #decide(queued: QueuedPod, profile: Profile, since: number): Promise<Decision | NoNodes | undefined> {
    const {uid} = queued.info;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      if (this.state.cache.nodes.length === 0) return {type: 'no nodes'};
      await this.state.devices.load(queued.info);
      const {info} = queued;
      const decision = await this.#decideOnce(info, profile, {since, cycle: queued.cycle});
      if (this.state.queue.get(uid) !== queued || queued.subQueue !== 'none' || this.state.cache.isAssumed(uid) || !this.#profileOf(queued))
        return undefined;
      const validDecision = this.#parts.decider.revalidate(decision);
      if (!validDecision) continue;
      if (validDecision.type === 'node') this.#parts.decider.storeResults(info, validDecision, queued.cycle);
      return validDecision;
    }
    throw new Error(`the nodes that were chosen changed ${maxAttempts} times before anything could be done with them`);
  }

  /** Decides on a pod with the nodes frozen. */
  async #decideOnce(info: PodInfo, profile: Profile, attempt: Attempt): Promise<Decision> {
    this.state.cache.freeze();
    try {
      return await runStepsYielding(this.#parts.decider.decide(info, profile, attempt), this.#pieces);
    } finally {
      await runStepsYielding(this.state.cache.applyDeferred(), this.#pieces);
    }
  }

  #apply(queued: QueuedPod, decision: Decision, since: number): void {
    const fail = (nominatedNode: string | undefined, message: string) =>
      this.#parts.failures.handle(
        queued,
        {reason: 'Unschedulable', message, nominatedNode},
        decision.filterResult.diagnosis.rejectedBy,
        since,
      );
    switch (decision.type) {
      case 'node':
        return this.#parts.binder.assumeAndBind(queued, decision.node, decision.filterResult.filterSet, since);
      case 'preempt':
        this.#parts.preemptor.preempt(queued.info, decision.candidate, () => this.state.queue.activate(queued.info.uid));
        return fail(decision.candidate.node, decision.text);
      case 'none':
        return fail(decision.nominatedNode, decision.text);
    }
  }
}
