// The configuration of how long pods may take when the machine shuts down.

import type {Settings} from '#src/platlet/config/fields.js';
import {periodsOfTotal, type PriorityPeriod} from '#src/platlet/node/shutdown-groups.js';

/** Returns the configured periods, the lowest priority first; none if the shutdown of the machine is not waited for. */
export const periodsOf = (
  settings: Pick<Settings, 'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'>,
  withPriorities: boolean,
): readonly PriorityPeriod[] => {
  const configured = withPriorities ? settings.shutdownGracePeriodByPodPriority : [];
  const periods =
    configured.length > 0
      ? configured.map(({priority = 0, shutdownGracePeriodSeconds = 0}) => ({
          priority: Number(priority),
          seconds: Number(shutdownGracePeriodSeconds),
        }))
      : periodsOfTotal(settings.shutdownGracePeriod, settings.shutdownGracePeriodCriticalPods);
  return periods.toSorted((a, b) => a.priority - b.priority);
};

/** Returns how long a shutdown has to wait in all, in ms. */
export const totalMsOf = (periods: readonly PriorityPeriod[]): number => periods.reduce((sum, {seconds}) => sum + seconds, 0) * 1000;
