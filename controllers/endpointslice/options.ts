import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';

export type Options = Pick<
  ControllerManagerOptions,
  'concurrentServiceEndpointSyncs' | 'endpointsliceUpdatesBatchPeriod' | 'maxEndpointsPerSlice'
>;
