import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {defineController, every, forLoop, mapped} from '#src/runtime/controller.js';
import {quotaReconciler} from './reconcile.js';
import {hasNewLimits, isUncounted, type Quota} from './usage.js';

type Options = Pick<ControllerManagerOptions, 'concurrentResourceQuotaSyncs' | 'resourceQuotaSyncPeriod'>;

/** Quotas that nothing can be charged to yet are not to wait behind those that are only counted anew. */
const isUrgent = (quota: Frozen<Quota>): boolean => hasNewLimits(quota) || isUncounted(quota);

/**
 * Tells in the status of each quota what is used of it. What is made is charged by the server at once; this counts what has gone or changed since, and
 * what was there before the quota.
 */
export default defineController<Options>({
  doc: 'Counts what is used of each quota.',
  name: 'resourcequota-controller',
  serviceAccount: 'resourcequota-controller',
  flags: ['concurrent-resource-quota-syncs', 'resource-quota-sync-period'],
  workers: options => options.concurrentResourceQuotaSyncs,
  reads: [kinds.resourceQuotas, kinds.pods, kinds.services, kinds.persistentVolumeClaims],
  watches: [
    forLoop('primary', mapped(kinds.resourceQuotas, ({type, object}) => (type === 'added' && !isUrgent(object) ? [keyOf(object)] : []))),
    forLoop(
      'priority',
      mapped(kinds.resourceQuotas, change => {
        const {type, object} = change;
        const isAsked = type === 'added' ? isUrgent(object) : type === 'updated' && hasNewLimits(object);
        return isAsked ? [keyOf(object)] : [];
      }),
    ),
    forLoop(
      'primary',
      every(
        (options: Options) => options.resourceQuotaSyncPeriod,
        ({lister}) => lister(kinds.resourceQuotas).list().map(keyOf),
      ),
    ),
  ],
  create: quotaReconciler,
});
