import {podsByLabel} from '#controllers/shared/children/selected.js';
import {indexing} from '#informers/lister.js';
import {NoSuchKind, Scales} from '#controllers/shared/scale.js';
import type {Change} from '#informers/change.js';
import {keyOf, keyText, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {originsOf} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {isTransient} from '#src/runtime/transient.js';
import {Demands} from './demand.js';
import {Failed} from './failure.js';
import {Histories} from './history.js';
import type {Autoscaler} from './limits.js';
import {autoscalerMetrics} from './metrics.js';
import type {Options} from './options.js';
import {Selections} from './selection.js';
import {metricSources} from './sources.js';
import {AutoscalerSync, type SyncParts} from './sync.js';

/** Reconciles autoscalers. The history of an autoscaler is deleted with it: one of the same name starts anew. */
export const autoscalerReconciler = (context: KeyedContext<Options>): Reconcile => {
  const {lister, listen, enqueue, writer, clock, client, options, meter} = context;
  const autoscalers = lister(kinds.horizontalPodAutoscalers);
  const scales = new Scales(client, clock);
  const selections = new Selections(indexing(lister(kinds.pods), podsByLabel));
  const histories = new Histories();
  const ownMetrics = autoscalerMetrics(meter, clock, () => selections.size);
  const demands = new Demands(context, {sources: metricSources(client, scales, clock), selections, ownMetrics});
  const parts: SyncParts = {scales, demands, ownMetrics, histories, writes: writer(kinds.horizontalPodAutoscalers)};
  /** The last logged failure of each autoscaler, so that it is not logged again every period. */
  const logged = new Map<string, string>();
  const periodMs = options.horizontalPodAutoscalerSyncPeriod;

  const forget = (key: ObjectKey) => {
    selections.forget(key);
    histories.forget(key);
    logged.delete(keyText(key));
    ownMetrics.forget(key);
  };
  listen(kinds.horizontalPodAutoscalers, ({type, object}: Change<Autoscaler>) => {
    const key = keyOf(object);
    if (type === 'deleted') return forget(key);
    selections.known(key);
    enqueue(key, {afterMs: periodMs});
  });

  /**
   * Expected failures, such as a missing target, and repeated ones are not logged as errors: conditions and Events
   * report them.
   */
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
      ownMetrics.countReconciliation(await new AutoscalerSync(context, parts, hpa).run(attempt), 'none', since);
      logged.delete(keyText(key));
    } catch (error) {
      // The next sync is one period away in any case.
      ownMetrics.countReconciliation('none', error instanceof Failed ? error.fault : 'internal', since);
      (isExpectedFailure(key, error) ? attempt.log.v(2).info : attempt.log.error)({err: error}, 'an autoscaler could not be served');
    }
    return requeueAfter(periodMs);
  };
};
