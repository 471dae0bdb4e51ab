import type {Scale} from '#controllers/shared/scale.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {Tolerances} from './calculator.js';
import type {Conditions} from './conditions.js';
import {Failed} from './failure.js';
import type {Autoscaler} from './limits.js';
import {actionOf, type AutoscalerMetrics} from './metrics.js';
import type {Options} from './options.js';
import {MetricError, proposalOf, type MetricContext, type MetricStatus} from './proposal.js';
import {SelectionError, type Selection, type Selections} from './selection.js';
import type {MetricSources} from './sources.js';

/** The combined result of an autoscaler's metrics. */
export interface Demand {
  readonly replicas: number;
  /** The metric that asks for the most replicas. */
  readonly name: string;
  /** Why some metrics could not be computed, while others could. */
  readonly error: Failed | undefined;
}

interface Measured {
  readonly replicas: number;
  readonly name: string;
  readonly failures: readonly MetricError[];
}

interface DemandParts {
  readonly sources: MetricSources;
  readonly selections: Selections;
  readonly ownMetrics: AutoscalerMetrics;
}

/** Computes the metrics of autoscalers, and reports those that cannot be computed. */
export class Demands {
  readonly #context: KeyedContext<Options>;
  readonly #parts: DemandParts;

  constructor(context: KeyedContext<Options>, parts: DemandParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * Returns the largest proposal, and adds the status of each metric to `statuses`. Rejects when no metric could be
   * computed, or when the result would scale down while some metric could not be computed.
   */
  async of(hpa: Frozen<Autoscaler>, scale: Scale, conditions: Conditions, statuses: MetricStatus[]): Promise<Demand> {
    const context = this.#metricContext(hpa, scale, this.#select(hpa, scale, conditions));
    const {replicas, name, failures} = await this.#measure(hpa, context, statuses);
    const [first] = failures;
    const metrics = hpa.spec?.metrics ?? [];
    const error =
      first &&
      new Failed(
        `invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${first.message}`,
        first.isOfSpec ? 'spec' : 'internal',
        first,
      );
    if (first && (failures.length >= metrics.length || replicas < context.current)) {
      conditions.set('ScalingActive', 'False', {
        reason: first.reason,
        message: `the HPA was unable to compute the replica count: ${first.eventMessage}`,
      });
      throw error!;
    }
    conditions.set('ScalingActive', 'True', {
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${name}`,
    });
    return {replicas, name, error};
  }

  #select(hpa: Frozen<Autoscaler>, scale: Scale, conditions: Conditions): Selection {
    try {
      return this.#parts.selections.select(keyOf(hpa), scale.status?.selector ?? '');
    } catch (error) {
      if (!(error instanceof SelectionError)) throw error;
      const [event, condition] = error.reasons;
      this.#context.events.warning(hpa, event, error.message);
      conditions.set('ScalingActive', 'False', {reason: condition, message: error.conditionMessage});
      throw new Failed(error.message, 'internal', error);
    }
  }

  #metricContext(hpa: Frozen<Autoscaler>, scale: Scale, {selector, pods}: Selection): MetricContext {
    const {clock, gates, options} = this.#context;
    return {
      pods,
      selector,
      sources: this.#parts.sources,
      current: scale.spec?.replicas ?? 0,
      delays: {
        cpuInitializationMs: options.horizontalPodAutoscalerCpuInitializationPeriod,
        initialReadinessMs: options.horizontalPodAutoscalerInitialReadinessDelay,
      },
      tolerances: this.#tolerancesOf(hpa),
      now: clock.now(),
      namespace: hpa.metadata?.namespace ?? '',
      running: scale.status?.replicas ?? 0,
      podLevel: gates.enabled('PodLevelResources'),
    };
  }

  #tolerancesOf({spec}: Frozen<Autoscaler>): Tolerances {
    const {gates, options} = this.#context;
    const of = (own: string | undefined) =>
      own !== undefined && gates.enabled('HPAConfigurableTolerance')
        ? quantityNumber(parseQuantity(String(own)))
        : options.horizontalPodAutoscalerTolerance;
    return {up: of(spec?.behavior?.scaleUp?.tolerance), down: of(spec?.behavior?.scaleDown?.tolerance)};
  }

  /** Computes one metric after the other. */
  async #measure(hpa: Frozen<Autoscaler>, context: MetricContext, statuses: MetricStatus[]): Promise<Measured> {
    const {clock, events} = this.#context;
    const {ownMetrics} = this.#parts;
    const failures: MetricError[] = [];
    let replicas = 0;
    let name = '';
    for (const metric of hpa.spec?.metrics ?? []) {
      const since = clock.monotonic();
      try {
        const proposal = await proposalOf(metric, context);
        ownMetrics.countComputation(actionOf(hpa.status?.currentReplicas ?? 0, proposal.replicas), 'none', metric.type, since);
        statuses.push(proposal.status);
        if (replicas === 0 || proposal.replicas > replicas) ({replicas, name} = proposal);
      } catch (error) {
        if (!(error instanceof MetricError)) throw error;
        ownMetrics.countComputation('none', error.isOfSpec ? 'spec' : 'internal', metric.type, since);
        events.warning(hpa, error.reason, error.eventMessage);
        statuses.push({type: ''});
        failures.push(error);
      }
    }
    return {replicas, name, failures};
  }
}
