import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {collector} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'terminatedPodGcThreshold'>;

/**
 * Deletes pods that no kubelet will delete: the oldest terminated ones beyond the threshold, those whose node is gone
 * or out of service, and unscheduled ones that are being deleted.
 */
export default defineController<Options>({
  doc: 'Deletes terminated pods above a threshold, and orphaned pods, whose node no longer exists.',
  name: 'pod-garbage-collector-controller',
  serviceAccount: 'pod-garbage-collector',
  configuration: {PodGCController: {TerminatedPodGCThreshold: 'terminated-pod-gc-threshold'}},
  reads: [kinds.pods, kinds.nodes],
  watches: [every('20s')],
  create(context) {
    context.enqueue(singletonKey);
    return collector(context);
  },
});
