import {aggregate} from '#controllers/shared/aggregate.js';
import {unlessMissing} from '#src/client/missing.js';
import {isResync, type Change} from '#informers/change.js';
import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import {quotaEvaluators} from '#src/model/quota/evaluators.js';
import {settled, type KeyedContext, type Loops, type Reconcile} from '#src/runtime/controller.js';
import {CountedObjects} from './counted-objects.js';
import {evaluatorsOf, hasNewLimits, limitedNames, quotasCounting, cachedUsage, sameAmounts, usageOf, type Quota} from './usage.js';

/** Two loops with the same reconciler: `primary` for recounts, `priority` for quotas that cannot be charged yet. */
export const quotaReconciler = (context: KeyedContext): Loops => {
  const {lister, writer, enqueue, naming, gates, clock} = context;
  const quotas = lister(kinds.resourceQuotas);
  const writes = writer(kinds.resourceQuotas);
  const evaluators = quotaEvaluators(naming, gate => gates.enabled(gate));
  const usage = cachedUsage();
  const pieces = new Yielder(clock);
  const counting = quotasCounting(quotas, evaluators);

  /**
   * Whether a change may lower the usage of a quota, also by moving an object out of its scope: the server itself
   * charges what raises it.
   */
  const isRelevant = (evaluator: QuotaEvaluator, change: Change): boolean => {
    if (change.type === 'deleted') return true;
    if (change.type === 'added' || isResync(change) || !evaluator.kind) return false;
    const [before, after] = [change.old, change.object].map(object =>
      [...usage(evaluator, object, clock.now())].map(([name, amount]) => `${name} ${amount.unscaled}e${amount.exponent}`).join(),
    );
    return before !== after || evaluator.scopedBy?.(change.old) !== evaluator.scopedBy?.(change.object);
  };
  const counted = new CountedObjects(context, (evaluator, change) => {
    if (!isRelevant(evaluator, change)) return;
    for (const quota of counting(change.object.metadata?.namespace, evaluator)) enqueue(keyOf(quota), {loop: 'primary'});
  });

  const count: Reconcile = async (key, {signal}) => {
    const quota = quotas.get(key);
    if (!quota) return settled;
    const {spec, status} = quota;
    const used: Record<string, string> = {};
    for (const name of limitedNames(quota)) if (status?.used?.[name] !== undefined) used[name] = status.used[name];
    const failures: unknown[] = [];
    const isServed = await counted.served().catch((error: unknown) => {
      failures.push(error);
      return counted.isWatched;
    });
    for (const evaluator of await runStepsYielding(evaluatorsOf(quota, evaluators, isServed), pieces)) {
      try {
        const objects = await counted.list(evaluator, key.namespace, signal);
        if (objects) Object.assign(used, await usageOf(quota, {evaluator, objects, usage, now: clock.now(), pieces}));
      } catch (error) {
        failures.push(error);
      }
    }
    await pieces.pause();
    const isUpToDate = status?.hard !== undefined && status.used !== undefined && !hasNewLimits(quota) && sameAmounts(used, status.used);
    if (!isUpToDate) await unlessMissing(writes.updateStatus({...(quota as Quota), status: {hard: spec?.hard ?? {}, used}}));
    const failure = aggregate(failures);
    if (failure) throw failure;
    return settled;
  };
  return {primary: count, priority: count};
};
