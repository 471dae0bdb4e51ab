import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import type {Grace} from './health.js';
import type {ZoneRules} from './zones.js';

/** The options that the controller reads. */
export type LifecycleOptions = Pick<
  ControllerManagerOptions,
  | 'nodeMonitorPeriod'
  | 'nodeMonitorGracePeriod'
  | 'nodeStartupGracePeriod'
  | 'nodeEvictionRate'
  | 'secondaryNodeEvictionRate'
  | 'largeClusterSizeThreshold'
  | 'unhealthyZoneThreshold'
>;

export const graceOf = ({nodeMonitorGracePeriod, nodeStartupGracePeriod}: LifecycleOptions): Grace => ({
  monitorMs: nodeMonitorGracePeriod,
  startupMs: nodeStartupGracePeriod,
});

export const zoneRulesOf = ({
  nodeEvictionRate,
  secondaryNodeEvictionRate,
  largeClusterSizeThreshold,
  unhealthyZoneThreshold,
}: LifecycleOptions): ZoneRules => ({
  rate: nodeEvictionRate,
  secondaryRate: secondaryNodeEvictionRate,
  largeThreshold: largeClusterSizeThreshold,
  unhealthyThreshold: unhealthyZoneThreshold,
});
