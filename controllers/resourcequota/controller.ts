import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, every, forLoop, mapped} from '#src/runtime/controller.js';
import {quotaReconciler} from './reconcile.js';
import {hasNewLimits, isUncounted, type Quota} from './usage.js';

type Options = Pick<ControllerManagerOptions, 'concurrentResourceQuotaSyncs' | 'resourceQuotaSyncPeriod'>;

/**
 * Whether the quota belongs in the priority queue: nothing can be charged to it until it is counted, so it does not
 * wait behind recounts.
 */
const isUrgent = (quota: Frozen<Quota>): boolean => hasNewLimits(quota) || isUncounted(quota);

/**
 * Reports the usage of each quota in its status. The server charges a quota for objects when they are created; this
 * controller recounts after deletions and updates, and counts the objects that are older than the quota.
 */
export default defineController<Options>({
  doc: 'Calculates the usage of each resource quota.',
  name: 'resourcequota-controller',
  serviceAccount: 'resourcequota-controller',
  configuration: {
    ResourceQuotaController: {
      ResourceQuotaSyncPeriod: 'resource-quota-sync-period',
      ConcurrentResourceQuotaSyncs: 'concurrent-resource-quota-syncs',
    },
  },
  workers: options => options.concurrentResourceQuotaSyncs,
  reads: [kinds.resourceQuotas, kinds.pods, kinds.services, kinds.persistentVolumeClaims],
  watches: [
    forLoop(
      'primary',
      mapped(kinds.resourceQuotas, ({type, object}) => (type === 'added' && !isUrgent(object) ? [keyOf(object)] : [])),
    ),
    forLoop(
      'priority',
      mapped(kinds.resourceQuotas, change => {
        const {type, object} = change;
        const isConcerned = type === 'added' ? isUrgent(object) : type === 'updated' && hasNewLimits(object);
        return isConcerned ? [keyOf(object)] : [];
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
