import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';

/** The options that the autoscaler reads. */
export type Options = Pick<
  ControllerManagerOptions,
  | 'concurrentHorizontalPodAutoscalerSyncs'
  | 'horizontalPodAutoscalerCpuInitializationPeriod'
  | 'horizontalPodAutoscalerDownscaleStabilization'
  | 'horizontalPodAutoscalerInitialReadinessDelay'
  | 'horizontalPodAutoscalerSyncPeriod'
  | 'horizontalPodAutoscalerTolerance'
>;
