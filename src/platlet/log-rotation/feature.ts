import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {LogRotation} from './rotation.js';

/** Rotates the logs of containers. */
export const logRotation: AgentFeature = {
  name: 'log rotation',
  start({settings, runtime, host, clock, log, signal}) {
    new LogRotation({
      runtime,
      host,
      clock,
      log,
      signal,
      settings: {
        maxBytes: bytesOf(settings.containerLogMaxSize),
        maxFiles: settings.containerLogMaxFiles,
        periodMs: settings.containerLogMonitorInterval,
        workers: settings.containerLogMaxWorkers,
      },
    }).start();
  },
};

/** Parses a log size in bytes; negative is no limit. */
const bytesOf = (size: string): number => quantityNumber(parseQuantity(size));
