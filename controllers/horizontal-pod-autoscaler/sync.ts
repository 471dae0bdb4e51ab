import type {Scales} from '#controllers/shared/scale.js';
import {sameContent} from '#src/api/equal.js';
import {copyOf, keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {wireTime} from '#src/api/time.js';
import {messageOf} from '#src/base/message.js';
import type {Attempt, KeyedContext} from '#src/runtime/controller.js';
import {isTransient} from '#src/runtime/transient.js';
import type {Writer} from '#src/runtime/writer.js';
import {Conditions, type Status} from './conditions.js';
import {decideByDemand, decideWithoutMetrics, type Decision} from './decision.js';
import type {Demands} from './demand.js';
import {Failed} from './failure.js';
import type {Histories, History} from './history.js';
import {longestPeriodMs, type Autoscaler} from './limits.js';
import {actionOf, type Action, type AutoscalerMetrics} from './metrics.js';
import type {Options} from './options.js';
import type {MetricStatus} from './proposal.js';
import {readTarget, type Target} from './target.js';

export interface SyncParts {
  readonly scales: Scales;
  readonly demands: Demands;
  readonly ownMetrics: AutoscalerMetrics;
  readonly histories: Histories;
  readonly writes: Writer<Autoscaler>;
}

/**
 * One sync of an autoscaler: reads the scale of its target, decides, changes the scale, and reports all of it in the
 * status.
 */
export class AutoscalerSync {
  readonly #context: KeyedContext<Options>;
  readonly #parts: SyncParts;
  readonly #hpa: Frozen<Autoscaler>;
  readonly #key: ObjectKey;
  readonly #former: Status;
  readonly #conditions: Conditions;
  /** `Deployment/default/web`. */
  readonly #reference: string;

  constructor(context: KeyedContext<Options>, parts: SyncParts, hpa: Frozen<Autoscaler>) {
    const {kind, name} = hpa.spec!.scaleTargetRef;
    this.#context = context;
    this.#parts = parts;
    this.#hpa = hpa;
    this.#key = keyOf(hpa);
    this.#former = copyOf<Autoscaler>(hpa).status ?? ({} as Status);
    this.#conditions = new Conditions(this.#former.conditions ?? [], context.clock.now());
    this.#reference = `${kind}/${this.#key.namespace}/${name}`;
  }

  /** Resolves to the action taken. */
  async run(attempt: Attempt): Promise<Action> {
    const target = await this.#readTarget();
    const current = target.scale.spec?.replicas ?? 0;
    const history = this.#parts.histories.of(this.#key, this.#hpa.metadata?.uid ?? '');
    history.begin(current, this.#context.clock.monotonic());

    const statuses: MetricStatus[] = [];
    const decision = await this.#decide(target, history, statuses);
    const {replicas} = decision;
    if (replicas === current) {
      this.#parts.ownMetrics.setDesired(this.#key, current);
      await this.#write(this.#statusOf(current, current, statuses));
    } else {
      await this.#rescale(target, decision, attempt);
      this.#recordScaling(history, replicas - current);
      await this.#write({...this.#statusOf(current, replicas, statuses), lastScaleTime: wireTime(this.#context.clock.now())});
    }
    if (decision.error) throw decision.error;
    return actionOf(current, replicas);
  }

  async #readTarget(): Promise<Target> {
    try {
      const target = await readTarget(this.#parts.scales, this.#hpa);
      this.#conditions.set('AbleToScale', 'True', {
        reason: 'SucceededGetScale',
        message: "the HPA controller was able to get the target's current scale",
      });
      return target;
    } catch (error) {
      const cause = error instanceof Failed && error.cause ? error.cause : error;
      this.#context.events.warning(this.#hpa, 'FailedGetScale', messageOf(cause));
      this.#conditions.set('AbleToScale', 'False', {
        reason: 'FailedGetScale',
        message: `the HPA controller was unable to get the target's current scale: ${messageOf(cause)}`,
      });
      await this.#writeOnFailure({...this.#former, conditions: this.#conditions.list});
      throw error;
    }
  }

  async #decide({scale}: Target, history: History, statuses: MetricStatus[]): Promise<Decision> {
    const {clock, events, options} = this.#context;
    const current = scale.spec?.replicas ?? 0;
    try {
      const early = decideWithoutMetrics(this.#hpa, current, this.#conditions);
      if (early) return early;
      const demand = await this.#parts.demands.of(this.#hpa, scale, this.#conditions, statuses);
      return decideByDemand(this.#hpa, demand, {
        current,
        conditions: this.#conditions,
        history,
        windowMs: options.horizontalPodAutoscalerDownscaleStabilization,
        now: clock.monotonic(),
      });
    } catch (error) {
      await this.#writeOnFailure(this.#formerStatusAt(current));
      events.warning(this.#hpa, 'FailedComputeMetricsReplicas', messageOf(error));
      throw new Failed(
        `failed to compute desired number of replicas based on listed metrics for ${this.#reference}: ${messageOf(error)}`,
        error instanceof Failed ? error.fault : 'internal',
        error,
      );
    }
  }

  async #rescale({scale, resource}: Target, {replicas, reason}: Decision, attempt: Attempt): Promise<void> {
    const {events} = this.#context;
    try {
      await this.#parts.scales.write(resource, scale, replicas, attempt);
    } catch (error) {
      events.warning(this.#hpa, 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${messageOf(error)}`);
      this.#conditions.set('AbleToScale', 'False', {
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${messageOf(error)}`,
      });
      await this.#writeOnFailure(this.#formerStatusAt(scale.spec?.replicas ?? 0));
      throw new Failed(`failed to rescale ${this.#reference}: ${messageOf(error)}`, 'internal', error);
    }
    this.#conditions.set('AbleToScale', 'True', {
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${replicas}`,
    });
    events.normal(this.#hpa, 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
    this.#parts.ownMetrics.setDesired(this.#key, replicas);
  }

  #recordScaling(history: History, change: number): void {
    const {behavior} = this.#hpa.spec!;
    const now = this.#context.clock.monotonic();
    if (behavior) history.scaled(change, now, now - longestPeriodMs(behavior, change));
  }

  #statusOf(currentReplicas: number, desiredReplicas: number, currentMetrics: readonly MetricStatus[] | null): Status {
    return {
      ...(this.#former.lastScaleTime ? {lastScaleTime: this.#former.lastScaleTime} : {}),
      currentReplicas,
      desiredReplicas,
      currentMetrics: currentMetrics as MetricStatus[],
      conditions: this.#conditions.list,
    };
  }

  /** Returns the status with the former desired replicas and metrics. */
  #formerStatusAt(currentReplicas: number): Status {
    return this.#statusOf(currentReplicas, this.#former.desiredReplicas ?? 0, this.#former.currentMetrics ?? null);
  }

  async #write(status: Status): Promise<void> {
    if (sameContent(this.#hpa.status, status)) return;
    try {
      await this.#parts.writes.updateStatus({...copyOf<Autoscaler>(this.#hpa), status});
    } catch (error) {
      this.#context.events.warning(this.#hpa, 'FailedUpdateStatus', messageOf(error));
      throw new Failed(`failed to update status for ${this.#hpa.metadata?.name}: ${messageOf(error)}`, 'internal', error);
    }
  }

  /** A failure to write the status is logged; the original failure is thrown. */
  async #writeOnFailure(status: Status): Promise<void> {
    const {log} = this.#context;
    await this.#write(status).catch((error: unknown) =>
      (isTransient(error, 1) ? log.v(2).info : log.error)(
        {key: keyText(this.#key), err: error},
        'the status of an autoscaler was not written',
      ),
    );
  }
}
