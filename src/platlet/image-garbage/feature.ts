import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {ImageGarbage} from './garbage.js';

/** Removes unused images. */
export const imageGarbage: AgentFeature = {
  name: 'image garbage collector',
  start({settings, runtime, host, clock, log, events, node, metrics, imageAccess, signal}) {
    new ImageGarbage({
      runtime,
      host,
      clock,
      log,
      signal,
      warn: (reason, message) => events.warning(node, reason, message),
      observer: {
        removed: reason => metrics.collectedImages.add({reason}),
        ...(imageAccess ? {collected: (present, since) => imageAccess.prune(present, since)} : {}),
      },
      settings: {
        highPercent: settings.imageGCHighThresholdPercent,
        lowPercent: settings.imageGCLowThresholdPercent,
        minAgeMs: settings.imageMinimumGCAge,
        maxAgeMs: settings.imageMaximumGCAge,
      },
    }).start();
  },
};
