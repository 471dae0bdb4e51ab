import type {ControllerManagerOptions} from '#src/options/controller-manager.js';

/** What the autoscaler reads of the flags. */
export type Options = Pick<
  ControllerManagerOptions,
  | 'concurrentHorizontalPodAutoscalerSyncs'
  | 'horizontalPodAutoscalerCpuInitializationPeriod'
  | 'horizontalPodAutoscalerDownscaleStabilization'
  | 'horizontalPodAutoscalerInitialReadinessDelay'
  | 'horizontalPodAutoscalerSyncPeriod'
  | 'horizontalPodAutoscalerTolerance'
>;
