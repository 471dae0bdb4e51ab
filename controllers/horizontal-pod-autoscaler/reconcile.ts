import type {FoundResource} from '#controllers/shared/discovery.js';
import {NoSuchKind, Scales, type Scale} from '#controllers/shared/scale.js';
import type {Change} from '#informers/change.js';
import {sameContent} from '#src/api/equal.js';
import {copyOf, keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {originsOf} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {requeueAfter, settled, type Attempt, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {isTransient} from '#src/runtime/transient.js';
import {messageOf} from '#src/base/message.js';
import type {Tolerances} from './calculator.js';
import {Conditions, type Status} from './conditions.js';
import {actionOf, autoscalerMetrics, type Action, type Fault} from './metrics.js';
import {History} from './history.js';
import {longestPeriodMs, scaleByBehavior, scaleWithoutBehavior, type Autoscaler, type LimitedScale} from './limits.js';
import type {Options} from './options.js';
import {MetricError, proposalOf, type MetricStatus, type MetricContext} from './proposal.js';
import {SelectionError, Selections, type Selection} from './selection.js';
import {metricSources} from './sources.js';

/** A failure that is reported in a condition and an event already. */
class Failed extends Error {
  readonly fault: Fault;

  constructor(message: string, fault: Fault, cause?: unknown) {
    super(message, {cause});
    this.fault = fault;
  }
}

/** The combined result of an autoscaler's metrics. */
interface Demand {
  readonly replicas: number;
  readonly name: string;
  readonly statuses: readonly MetricStatus[];
  /** Why some metrics could not be computed, while others could. */
  readonly error: Failed | undefined;
}

/** The decision on a target, with its reason. */
interface Decision {
  readonly replicas: number;
  readonly reason: string;
  readonly statuses: readonly MetricStatus[];
  readonly error?: Failed | undefined;
}

/** Reconciles autoscalers. The history of an autoscaler is deleted with it: one of the same name starts anew. */
export const autoscalerReconciler = (context: KeyedContext<Options>): Reconcile => {
  const {lister, listen, enqueue, writer, events, clock, client, options, gates, meter} = context;
  const autoscalers = lister(kinds.horizontalPodAutoscalers);
  const writes = writer(kinds.horizontalPodAutoscalers);
  const scales = new Scales(client, clock);
  const sources = metricSources(client, scales, clock);
  const selections = new Selections(lister(kinds.pods));
  const histories = new Map<string, {readonly uid: string; readonly history: History}>();
  const ownMetrics = autoscalerMetrics(meter, clock, () => selections.size);
  /** The last logged failure of each autoscaler, so that it is not logged again every period. */
  const logged = new Map<string, string>();
  const readinessDelays = {cpuInitializationMs: options.horizontalPodAutoscalerCpuInitializationPeriod, initialReadinessMs: options.horizontalPodAutoscalerInitialReadinessDelay};
  const periodMs = options.horizontalPodAutoscalerSyncPeriod;
  const windowMs = options.horizontalPodAutoscalerDownscaleStabilization;

  const forget = (key: ObjectKey) => {
    selections.forget(key);
    histories.delete(keyText(key));
    logged.delete(keyText(key));
    ownMetrics.forget(key);
  };
  listen(kinds.horizontalPodAutoscalers, ({type, object}: Change<Autoscaler>) => {
    const key = keyOf(object);
    if (type === 'deleted') return forget(key);
    selections.known(key);
    enqueue(key, {afterMs: periodMs});
  });

  const historyOf = (key: ObjectKey, uid: string): History => {
    const found = histories.get(keyText(key));
    if (found?.uid === uid) return found.history;
    const history = new History();
    histories.set(keyText(key), {uid, history});
    return history;
  };

  const tolerancesOf = ({spec}: Frozen<Autoscaler>): Tolerances => {
    const of = (own: string | undefined) => (own !== undefined && gates.enabled('HPAConfigurableTolerance') ? quantityNumber(parseQuantity(String(own))) : options.horizontalPodAutoscalerTolerance);
    return {up: of(spec?.behavior?.scaleUp?.tolerance), down: of(spec?.behavior?.scaleDown?.tolerance)};
  };

  /** Reads the scale of the target, from the first resource of its kind that has one. Rejects with the reason otherwise. */
  const scaleOf = async (hpa: Frozen<Autoscaler>): Promise<{readonly scale: Scale; readonly resource: FoundResource}> => {
    const namespace = hpa.metadata?.namespace ?? '';
    const {apiVersion = '', kind, name} = hpa.spec!.scaleTargetRef;
    if (apiVersion.split('/').length > 2) throw new Failed(`invalid API version in scale target reference: unexpected GroupVersion string: ${apiVersion}`, 'spec');
    const found = await scales.resourcesOf({apiVersion, kind}).catch((error: unknown) => {
      const cause = error instanceof NoSuchKind ? new Error(error.inGroup, {cause: error}) : error;
      throw new Failed(`unable to determine resource for scale target reference: ${messageOf(cause)}`, 'internal', cause);
    });
    let first: unknown;
    for (const resource of found) {
      try {
        return {scale: await scales.read(namespace, resource, name), resource};
      } catch (error) {
        first ??= error;
      }
    }
    throw new Failed(`failed to query scale subresource for ${kind}/${namespace}/${name}: ${messageOf(first)}`, 'internal', first);
  };

  const selected = (hpa: Frozen<Autoscaler>, scale: Scale, conditions: Conditions): Selection => {
    try {
      return selections.select(keyOf(hpa), scale.status?.selector ?? '');
    } catch (error) {
      if (!(error instanceof SelectionError)) throw error;
      const [event, condition] = error.reasons;
      events.warning(hpa, event, error.message);
      conditions.set('ScalingActive', 'False', {reason: condition, message: error.conditionMessage});
      throw new Failed(error.message, 'internal', error);
    }
  };

  /** Returns the largest proposal. Rejects when no metric could be computed, or when the result would scale down while some metric could not be computed. */
  const demandOf = async (hpa: Frozen<Autoscaler>, scale: Scale, conditions: Conditions, statuses: MetricStatus[]): Promise<Demand> => {
    const {selector, pods} = selected(hpa, scale, conditions);
    const current = scale.spec?.replicas ?? 0;
    const context: MetricContext = {
      pods, current, selector, sources, delays: readinessDelays,
      tolerances: tolerancesOf(hpa),
      now: clock.now(),
      namespace: hpa.metadata?.namespace ?? '',
      running: scale.status?.replicas ?? 0,
      podLevel: gates.enabled('PodLevelResources'),
    };
    const metrics = hpa.spec?.metrics ?? [];
    const failures: MetricError[] = [];
    let replicas = 0;
    let name = '';
    for (const metric of metrics) {
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
    const [first] = failures;
    const error = first && new Failed(`invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${first.message}`, first.isOfSpec ? 'spec' : 'internal', first);
    if (first && (failures.length >= metrics.length || replicas < current)) {
      conditions.set('ScalingActive', 'False', {reason: first.reason, message: `the HPA was unable to compute the replica count: ${first.eventMessage}`});
      throw error!;
    }
    conditions.set('ScalingActive', 'True', {reason: 'ValidMetricFound', message: `the HPA was able to successfully calculate a replica count from ${name}`});
    return {replicas, name, statuses, error};
  };

  const limitReplicas = (hpa: Frozen<Autoscaler>, current: number, desired: number, history: History): LimitedScale => {
    const {minReplicas: min = 1, maxReplicas: max, behavior} = hpa.spec!;
    const request = {current, desired, min, max};
    return behavior ? scaleByBehavior(request, behavior, history, windowMs, clock.monotonic()) : scaleWithoutBehavior(request, history, windowMs, clock.monotonic());
  };

  const decide = async (hpa: Frozen<Autoscaler>, scale: Scale, conditions: Conditions, history: History, statuses: MetricStatus[]): Promise<Decision> => {
    const current = scale.spec?.replicas ?? 0;
    const {minReplicas: min = 1, maxReplicas: max} = hpa.spec!;
    if (current === 0 && min !== 0) {
      conditions.set('ScalingActive', 'False', {reason: 'ScalingDisabled', message: 'scaling is disabled since the replica count of the target is zero'});
      return {replicas: 0, reason: '', statuses};
    }
    if (current > max) return {replicas: max, reason: 'Current number of replicas above Spec.MaxReplicas', statuses};
    if (current < min) return {replicas: min, reason: 'Current number of replicas below Spec.MinReplicas', statuses};
    const demand = await demandOf(hpa, scale, conditions, statuses);
    const {replicas, able, limited} = limitReplicas(hpa, current, demand.replicas, history);
    conditions.set('AbleToScale', 'True', able);
    conditions.set('ScalingLimited', limited.status, limited);
    const reason = demand.replicas > current ? `${demand.name} above target` : demand.replicas < current ? 'All metrics below target' : '';
    return {replicas, reason, statuses, error: demand.error};
  };

  const write = async (hpa: Frozen<Autoscaler>, status: Status): Promise<void> => {
    if (sameContent(hpa.status, status)) return;
    try {
      await writes.updateStatus({...copyOf<Autoscaler>(hpa), status});
    } catch (error) {
      events.warning(hpa, 'FailedUpdateStatus', messageOf(error));
      throw new Failed(`failed to update status for ${hpa.metadata?.name}: ${messageOf(error)}`, 'internal', error);
    }
  };
  /** A failure to write the status is logged; the original failure is thrown. */
  const writeStatusOnFailure = (hpa: Frozen<Autoscaler>, status: Status) =>
    write(hpa, status).catch((error: unknown) => (isTransient(error, 1) ? context.log.v(2).info : context.log.error)({key: keyText(keyOf(hpa)), err: error}, 'the status of an autoscaler was not written'));

  /** Resolves to the action taken. */
  const syncAutoscaler = async (hpa: Frozen<Autoscaler>, attempt: Attempt): Promise<Action> => {
    const key = keyOf(hpa);
    const former = copyOf<Autoscaler>(hpa).status ?? ({} as Status);
    const conditions = new Conditions(former.conditions ?? [], clock.now());
    const {kind, name} = hpa.spec!.scaleTargetRef;
    const reference = `${kind}/${key.namespace}/${name}`;
    const statusOf = (currentReplicas: number, desiredReplicas: number, currentMetrics: readonly MetricStatus[] | null): Status => ({
      ...(former.lastScaleTime ? {lastScaleTime: former.lastScaleTime} : {}),
      currentReplicas,
      desiredReplicas,
      currentMetrics: currentMetrics as MetricStatus[],
      conditions: conditions.list,
    });

    const {scale, resource} = await scaleOf(hpa).catch(async (error: unknown) => {
      const cause = error instanceof Failed && error.cause ? error.cause : error;
      events.warning(hpa, 'FailedGetScale', messageOf(cause));
      conditions.set('AbleToScale', 'False', {reason: 'FailedGetScale', message: `the HPA controller was unable to get the target's current scale: ${messageOf(cause)}`});
      await writeStatusOnFailure(hpa, {...former, conditions: conditions.list});
      throw error;
    });
    conditions.set('AbleToScale', 'True', {reason: 'SucceededGetScale', message: "the HPA controller was able to get the target's current scale"});
    const current = scale.spec?.replicas ?? 0;
    const history = historyOf(key, hpa.metadata?.uid ?? '');
    history.begin(current, clock.monotonic());

    const statuses: MetricStatus[] = [];
    const decision = await decide(hpa, scale, conditions, history, statuses).catch(async (error: unknown) => {
      await writeStatusOnFailure(hpa, statusOf(current, former.desiredReplicas ?? 0, former.currentMetrics ?? null));
      events.warning(hpa, 'FailedComputeMetricsReplicas', messageOf(error));
      throw new Failed(`failed to compute desired number of replicas based on listed metrics for ${reference}: ${messageOf(error)}`, error instanceof Failed ? error.fault : 'internal', error);
    });

    const {replicas, reason} = decision;
    if (replicas === current) {
      ownMetrics.setDesired(key, current);
      await write(hpa, statusOf(current, current, decision.statuses));
      if (decision.error) throw decision.error;
      return 'none';
    }
    try {
      await scales.write(resource, scale, replicas, attempt);
    } catch (error) {
      events.warning(hpa, 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${messageOf(error)}`);
      conditions.set('AbleToScale', 'False', {reason: 'FailedUpdateScale', message: `the HPA controller was unable to update the target scale: ${messageOf(error)}`});
      await writeStatusOnFailure(hpa, statusOf(current, former.desiredReplicas ?? 0, former.currentMetrics ?? null));
      throw new Failed(`failed to rescale ${reference}: ${messageOf(error)}`, 'internal', error);
    }
    conditions.set('AbleToScale', 'True', {reason: 'SucceededRescale', message: `the HPA controller was able to update the target scale to ${replicas}`});
    events.normal(hpa, 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
    const {behavior} = hpa.spec!;
    const now = clock.monotonic();
    if (behavior) history.scaled(replicas - current, now, now - longestPeriodMs(behavior, replicas - current));
    ownMetrics.setDesired(key, replicas);
    await write(hpa, {...statusOf(current, replicas, decision.statuses), lastScaleTime: wireTime(clock.now())});
    if (decision.error) throw decision.error;
    return actionOf(current, replicas);
  };

  /** Expected failures, such as a missing target, and repeated ones are not logged as errors: conditions and Events report them. */
  const isExpectedFailure = (key: ObjectKey, error: unknown): boolean => {
    if (isTransient(error, 1) || originsOf(error).every(origin => origin instanceof NoSuchKind)) return true;
    const isRepeated = logged.get(keyText(key)) === messageOf(error);
    logged.set(keyText(key), messageOf(error));
    return isRepeated;
  };

  return async (key, attempt) => {
    const hpa = autoscalers.get(key);
    if (!hpa) return settled;
    const since = clock.monotonic();
    try {
      ownMetrics.countReconciliation(await syncAutoscaler(hpa, attempt), 'none', since);
      logged.delete(keyText(key));
    } catch (error) {
      // The next sync is one period away in any case.
      ownMetrics.countReconciliation('none', error instanceof Failed ? error.fault : 'internal', since);
      (isExpectedFailure(key, error) ? attempt.log.v(2).info : attempt.log.error)({err: error}, 'an autoscaler could not be served');
    }
    return requeueAfter(periodMs);
  };
};
