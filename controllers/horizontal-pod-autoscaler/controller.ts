import {kinds} from '#src/api/kinds/index.js';
import {defineController} from '#src/runtime/controller.js';
import type {Options} from './options.js';
import {autoscalerReconciler} from './reconcile.js';

/**
 * Scales workloads by the metrics of their pods. Every autoscaler is synced once per period, regardless of changes and
 * failures; recommendations and scale events are kept in memory only.
 */
export default defineController<Options>({
  doc: 'Scales workloads by resource, custom and external metrics.',
  name: 'horizontal-pod-autoscaler-controller',
  serviceAccount: 'horizontal-pod-autoscaler',
  eventSource: 'horizontal-pod-autoscaler',
  configuration: {
    HPAController: {
      ConcurrentHorizontalPodAutoscalerSyncs: 'concurrent-horizontal-pod-autoscaler-syncs',
      HorizontalPodAutoscalerSyncPeriod: 'horizontal-pod-autoscaler-sync-period',
      HorizontalPodAutoscalerDownscaleStabilizationWindow: 'horizontal-pod-autoscaler-downscale-stabilization',
      HorizontalPodAutoscalerTolerance: 'horizontal-pod-autoscaler-tolerance',
      HorizontalPodAutoscalerCPUInitializationPeriod: 'horizontal-pod-autoscaler-cpu-initialization-period',
      HorizontalPodAutoscalerInitialReadinessDelay: 'horizontal-pod-autoscaler-initial-readiness-delay',
    },
  },
  queue: {name: 'horizontalpodautoscaler'},
  workers: options => options.concurrentHorizontalPodAutoscalerSyncs,
  reads: [kinds.horizontalPodAutoscalers, kinds.pods],
  create: autoscalerReconciler,
});
